BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
CREATE TABLE attempt (
	trial_id VARCHAR(64) NOT NULL, 
	number INTEGER NOT NULL, 
	gang_id VARCHAR(32), 
	state VARCHAR(16) NOT NULL, 
	reason TEXT NOT NULL, 
	traceback TEXT NOT NULL, 
	effective JSON NOT NULL, 
	startup_seconds FLOAT, 
	setup_seconds FLOAT, 
	log TEXT NOT NULL, 
	started_at DATETIME NOT NULL, 
	ended_at DATETIME, 
	CONSTRAINT pk_attempt PRIMARY KEY (trial_id, number), 
	CONSTRAINT fk_attempt_gang_id FOREIGN KEY(gang_id) REFERENCES gang (id) ON DELETE SET NULL, 
	CONSTRAINT fk_attempt_trial_id FOREIGN KEY(trial_id) REFERENCES trial (id) ON DELETE CASCADE
);
INSERT INTO "attempt" VALUES('4bc6f21c-ab2a3be3f3ec',1,'a5484f7f1d92','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [0], "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',1.17502205770069849681e+01,9.43403756799671100452e+00,'sweeper-logs/4bc6f21c/4bc6f21c-ab2a3be3f3ec-1.log','2026-11-28 17:20:28.972783','2026-11-28 17:20:50.209604');
INSERT INTO "attempt" VALUES('4bc6f21c-45723c405324',1,'2abef808ea3f','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [1], "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',1.17120306360011454675e+01,8.8029583210009150207e+00,'sweeper-logs/4bc6f21c/4bc6f21c-45723c405324-1.log','2026-11-28 17:20:28.979705','2026-11-28 17:20:49.581623');
INSERT INTO "attempt" VALUES('4bc6f21c-6531229137d0',1,'4809fbf67c49','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [0], "parameters": 2, "global_batch": 64, "steps": 5, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',1.26963444540015188974e+01,9.03708441899652825668e+00,'sweeper-logs/4bc6f21c/4bc6f21c-6531229137d0-1.log','2026-11-28 17:20:50.206757','2026-11-28 17:21:21.930104');
CREATE TABLE evaluation (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	step BIGINT NOT NULL, 
	images BIGINT NOT NULL, 
	seconds FLOAT NOT NULL, 
	loss FLOAT, 
	accuracy FLOAT NOT NULL, 
	CONSTRAINT pk_evaluation PRIMARY KEY (trial_id, attempt, step), 
	CONSTRAINT fk_evaluation_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
);
CREATE TABLE gang (
	id VARCHAR(32) NOT NULL, 
	sweep_id VARCHAR(32) NOT NULL, 
	workers INTEGER NOT NULL, 
	hosts JSON NOT NULL, 
	pids JSON NOT NULL, 
	versions JSON NOT NULL, 
	started_at DATETIME NOT NULL, 
	CONSTRAINT pk_gang PRIMARY KEY (id), 
	CONSTRAINT fk_gang_sweep_id FOREIGN KEY(sweep_id) REFERENCES sweep (id) ON DELETE CASCADE
);
INSERT INTO "gang" VALUES('2abef808ea3f','4bc6f21c',1,'["host"]','[28771]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 17:20:40.349799');
INSERT INTO "gang" VALUES('a5484f7f1d92','4bc6f21c',1,'["host"]','[28768]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 17:20:40.384681');
INSERT INTO "gang" VALUES('4809fbf67c49','4bc6f21c',2,'["host", "host"]','[29019, 29020]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 17:21:12.268456');
CREATE TABLE loss_point (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	step BIGINT NOT NULL, 
	images BIGINT, 
	seconds FLOAT NOT NULL, 
	loss FLOAT, 
	CONSTRAINT pk_loss_point PRIMARY KEY (trial_id, attempt, step), 
	CONSTRAINT fk_loss_point_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "loss_point" VALUES('4bc6f21c-45723c405324',1,5,160,4.68555309998919256031e-02,2.56128293275833140985e-01);
INSERT INTO "loss_point" VALUES('4bc6f21c-45723c405324',1,10,320,6.61819700035266578197e-02,2.46328982710838306768e-01);
INSERT INTO "loss_point" VALUES('4bc6f21c-6531229137d0',1,2,128,2.05491829983657225966e-02,2.63178177177906036376e-01);
INSERT INTO "loss_point" VALUES('4bc6f21c-6531229137d0',1,4,256,4.39920009957859292626e-02,0.256332628428936);
INSERT INTO "loss_point" VALUES('4bc6f21c-6531229137d0',1,5,320,5.9934755998256150633e-02,2.46006734669208526611e-01);
INSERT INTO "loss_point" VALUES('4bc6f21c-ab2a3be3f3ec',1,5,160,2.40903430021717213094e-02,2.58638232946395874023e-01);
INSERT INTO "loss_point" VALUES('4bc6f21c-ab2a3be3f3ec',1,10,320,3.81592839985387399792e-02,2.53931975364685036389e-01);
CREATE TABLE phase (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	seconds FLOAT NOT NULL, 
	CONSTRAINT pk_phase PRIMARY KEY (trial_id, attempt, name), 
	CONSTRAINT fk_phase_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
);
INSERT INTO "phase" VALUES('4bc6f21c-45723c405324',1,'compute',3.51459560115472413599e-02);
INSERT INTO "phase" VALUES('4bc6f21c-45723c405324',1,'update',2.92733599926577880978e-02);
INSERT INTO "phase" VALUES('4bc6f21c-45723c405324',1,'report',3.56447002559434622526e-04);
INSERT INTO "phase" VALUES('4bc6f21c-ab2a3be3f3ec',1,'compute',8.01520099776098504662e-03);
INSERT INTO "phase" VALUES('4bc6f21c-ab2a3be3f3ec',1,'update',2.86693689995445311069e-02);
INSERT INTO "phase" VALUES('4bc6f21c-ab2a3be3f3ec',1,'report',3.08277005387935787439e-04);
INSERT INTO "phase" VALUES('4bc6f21c-6531229137d0',1,'compute',4.57185300183482468128e-03);
INSERT INTO "phase" VALUES('4bc6f21c-6531229137d0',1,'all-reduce',0.0361973639955977);
INSERT INTO "phase" VALUES('4bc6f21c-6531229137d0',1,'update',2.97059000877197831869e-03);
INSERT INTO "phase" VALUES('4bc6f21c-6531229137d0',1,'report',1.50984919964685104787e-02);
CREATE TABLE scheduler (
	id VARCHAR(32) NOT NULL, 
	host VARCHAR(200) NOT NULL, 
	process VARCHAR(200) NOT NULL, 
	started_at DATETIME NOT NULL, 
	lease_until DATETIME NOT NULL, 
	CONSTRAINT pk_scheduler PRIMARY KEY (id)
);
CREATE TABLE sweep (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	origin VARCHAR(16) NOT NULL, 
	spec JSON, 
	threshold FLOAT, 
	over VARCHAR(16) NOT NULL, 
	group_by JSON NOT NULL, 
	created_at DATETIME NOT NULL, stop_asked_at DATETIME, 
	CONSTRAINT pk_sweep PRIMARY KEY (id)
);
INSERT INTO "sweep" VALUES('4bc6f21c','kept','run','{"name": "kept", "trial": {"model": "neuron", "data": "step-function", "images": 320, "batch_size": null, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}, "space": {"learning_rate": [0.1, 0.5], "batch_size": [32], "workers": [1, 2]}, "objective": {"threshold": 0.5, "over": "seconds", "group_by": ["workers"]}, "search": "grid", "prune": "none", "repeats": 1, "retries": 0, "resources": {"cpus_per_worker": 1, "gpus_per_worker": 0}, "limits": {"trial_seconds": null, "stall_seconds": 1800.0}}',0.5,'seconds','["workers"]','2026-11-28 17:20:28.800288',NULL);
CREATE TABLE trial (
	id VARCHAR(64) NOT NULL, 
	sweep_id VARCHAR(32) NOT NULL, 
	position INTEGER NOT NULL, 
	workers INTEGER NOT NULL, 
	parameters JSON NOT NULL, 
	config JSON NOT NULL, 
	resources JSON NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	reason TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	points INTEGER NOT NULL, 
	finite BOOLEAN NOT NULL, 
	minimum_loss FLOAT, 
	final_loss FLOAT, 
	seconds FLOAT, 
	images BIGINT, 
	steps BIGINT, 
	area_seconds FLOAT, 
	area_images FLOAT, 
	area_steps FLOAT, scheduler_id VARCHAR(32), oversubscribed BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_trial PRIMARY KEY (id), 
	CONSTRAINT fk_trial_sweep_id FOREIGN KEY(sweep_id) REFERENCES sweep (id) ON DELETE CASCADE
);
INSERT INTO "trial" VALUES('4bc6f21c-ab2a3be3f3ec','4bc6f21c',0,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,2,1,2.53931975364685036389e-01,2.53931975364685036389e-01,3.81592839985387399792e-02,320,10,3.60566000861207427638e-03,4.10056166648864746111e+01,1.28142552077770233154e+00,'d534b05efb05',0);
INSERT INTO "trial" VALUES('4bc6f21c-45723c405324','4bc6f21c',1,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,2,1,2.46328982710838306768e-01,2.46328982710838306768e-01,6.61819700035266578197e-02,320,10,4.8553549481444337188e-03,4.01965820789337158203e+01,1.25614318996667861938e+00,'d534b05efb05',0);
INSERT INTO "trial" VALUES('4bc6f21c-6531229137d0','4bc6f21c',2,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,3,1,2.46006734669208526611e-01,2.46006734669208526611e-01,5.9934755998256150633e-02,320,5,1.00937353287524969602e-02,4.93235511779785156232e+01,7.7068048715591430664e-01,'d534b05efb05',0);
INSERT INTO "trial" VALUES('4bc6f21c-480a0ce97861','4bc6f21c',3,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','pending','',0,0,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0);
CREATE INDEX ix_sweep_name ON sweep (name);
CREATE INDEX ix_gang_sweep_id ON gang (sweep_id);
CREATE INDEX ix_trial_sweep_id_state ON trial (sweep_id, state);
COMMIT;
