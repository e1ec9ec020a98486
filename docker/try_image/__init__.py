"""Try the image without a container engine: build it in a clean Debian tree, and start what the compose file starts.

`python -m docker.try_image FOLDER` as root:

- `dockerfile.py`: the stages of a Dockerfile and their instructions
- `context.py`: the files that a build may copy, by `.dockerignore`
- `sandbox.py`: a command in a tree of its own, by namespaces, mounts and chroot
- `build.py`: carries out the instructions of a stage
- `image.py`: what a build leaves: a tree, and how it is started
- `debian.py`: the clean tree in place of the base image, and this machine's settings of pip
- `compose.py`: the services of the compose file
- `database.py`: what stands for the `postgres` image
- `network.py`: the compose file's networks, a bridge each
- `container.py`: a service that runs, on its own copy of its image
- `cluster.py`: all services, started and ended as the compose file says
"""
