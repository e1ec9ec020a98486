BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
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
INSERT INTO "attempt" VALUES('84b2b8b0-ab2a3be3f3ec',1,'c4700744597e','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [0], "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',4.48329795600875513628e+00,2.94880516999546671286e+00,'sweeper-logs/84b2b8b0/84b2b8b0-ab2a3be3f3ec-1.log','2026-11-28 15:15:28.239927','2026-11-28 15:15:35.701253');
INSERT INTO "attempt" VALUES('84b2b8b0-45723c405324',1,'320796cfc482','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [1], "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',4.54971541799750411882e+00,3.02339883300010114908e+00,'sweeper-logs/84b2b8b0/84b2b8b0-45723c405324-1.log','2026-11-28 15:15:28.248591','2026-11-28 15:15:35.834290');
INSERT INTO "attempt" VALUES('84b2b8b0-6531229137d0',1,'da40972d2798','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [0], "parameters": 2, "global_batch": 64, "steps": 5, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',4.44893416000559227541e+00,3.30290706799860345199e+00,'sweeper-logs/84b2b8b0/84b2b8b0-6531229137d0-1.log','2026-11-28 15:15:35.838364','2026-11-28 15:15:47.232973');
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
INSERT INTO "gang" VALUES('c4700744597e','84b2b8b0',1,'["host"]','[29618]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 15:15:32.572043');
INSERT INTO "gang" VALUES('320796cfc482','84b2b8b0',1,'["host"]','[29620]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 15:15:32.631235');
INSERT INTO "gang" VALUES('da40972d2798','84b2b8b0',2,'["host", "host"]','[29631, 29632]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 15:15:43.803188');
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
INSERT INTO "loss_point" VALUES('84b2b8b0-45723c405324',1,5,160,6.65190299332607537508e-03,2.56128293275833140985e-01);
INSERT INTO "loss_point" VALUES('84b2b8b0-45723c405324',1,10,320,1.00200479937484487891e-02,2.46328982710838306768e-01);
INSERT INTO "loss_point" VALUES('84b2b8b0-6531229137d0',1,2,128,1.61744489960256032645e-02,2.63178177177906036376e-01);
INSERT INTO "loss_point" VALUES('84b2b8b0-6531229137d0',1,4,256,1.991101499879732728e-02,0.256332628428936);
INSERT INTO "loss_point" VALUES('84b2b8b0-6531229137d0',1,5,320,2.36126570016494952142e-02,2.46006734669208526611e-01);
INSERT INTO "loss_point" VALUES('84b2b8b0-ab2a3be3f3ec',1,5,160,0.00663379899924621,2.58638232946395874023e-01);
INSERT INTO "loss_point" VALUES('84b2b8b0-ab2a3be3f3ec',1,10,320,1.03801540026324801146e-02,2.53931975364685036389e-01);
CREATE TABLE phase (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	seconds FLOAT NOT NULL, 
	CONSTRAINT pk_phase PRIMARY KEY (trial_id, attempt, name), 
	CONSTRAINT fk_phase_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
);
INSERT INTO "phase" VALUES('84b2b8b0-ab2a3be3f3ec',1,'compute',5.71952499012695625424e-03);
INSERT INTO "phase" VALUES('84b2b8b0-ab2a3be3f3ec',1,'update',3.25677400542190298438e-03);
INSERT INTO "phase" VALUES('84b2b8b0-ab2a3be3f3ec',1,'report',2.28708995564375072717e-04);
INSERT INTO "phase" VALUES('84b2b8b0-45723c405324',1,'compute',5.63433400384383276104e-03);
INSERT INTO "phase" VALUES('84b2b8b0-45723c405324',1,'update',3.186422996805049479e-03);
INSERT INTO "phase" VALUES('84b2b8b0-45723c405324',1,'report',3.16061996272765100002e-04);
INSERT INTO "phase" VALUES('84b2b8b0-6531229137d0',1,'compute',4.75277199439005926251e-03);
INSERT INTO "phase" VALUES('84b2b8b0-6531229137d0',1,'all-reduce',7.37893699260894209146e-03);
INSERT INTO "phase" VALUES('84b2b8b0-6531229137d0',1,'update',3.32184000581037253141e-03);
INSERT INTO "phase" VALUES('84b2b8b0-6531229137d0',1,'report',7.09466500120470300316e-03);
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
INSERT INTO "sweep" VALUES('84b2b8b0','kept','run','{"name": "kept", "trial": {"model": "neuron", "data": "step-function", "images": 320, "batch_size": null, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}, "space": {"learning_rate": [0.1, 0.5], "batch_size": [32], "workers": [1, 2]}, "objective": {"threshold": 0.5, "over": "seconds", "group_by": ["workers"]}, "search": "grid", "prune": "none", "repeats": 1, "retries": 0, "resources": {"cpus_per_worker": 1, "gpus_per_worker": 0}, "limits": {"trial_seconds": null, "stall_seconds": 1800.0}}',0.5,'seconds','["workers"]','2026-11-28 15:15:28.195195',NULL);
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
	area_steps FLOAT, scheduler_id VARCHAR(32), 
	CONSTRAINT pk_trial PRIMARY KEY (id), 
	CONSTRAINT fk_trial_sweep_id FOREIGN KEY(sweep_id) REFERENCES sweep (id) ON DELETE CASCADE
);
INSERT INTO "trial" VALUES('84b2b8b0-ab2a3be3f3ec','84b2b8b0',0,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,2,1,2.53931975364685036389e-01,2.53931975364685036389e-01,1.03801540026324801146e-02,320,10,9.60134982246480406936e-04,4.10056166648864746111e+01,1.28142552077770233154e+00,'4ed01e29ee46');
INSERT INTO "trial" VALUES('84b2b8b0-45723c405324','84b2b8b0',1,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,2,1,2.46328982710838306768e-01,2.46328982710838306768e-01,1.00200479937484487891e-02,320,10,0.000846174481020176,4.01965820789337158203e+01,1.25614318996667861938e+00,'4ed01e29ee46');
INSERT INTO "trial" VALUES('84b2b8b0-6531229137d0','84b2b8b0',2,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,3,1,2.46006734669208526611e-01,2.46006734669208526611e-01,2.36126570016494952142e-02,320,5,1.90033345021658702823e-03,4.93235511779785156232e+01,7.7068048715591430664e-01,'4ed01e29ee46');
INSERT INTO "trial" VALUES('84b2b8b0-480a0ce97861','84b2b8b0',3,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','pending','',0,0,1,NULL,2.42359250783920288085e-01,NULL,NULL,NULL,NULL,NULL,NULL,'4ed01e29ee46');
CREATE INDEX ix_sweep_name ON sweep (name);
CREATE INDEX ix_gang_sweep_id ON gang (sweep_id);
CREATE INDEX ix_trial_sweep_id_state ON trial (sweep_id, state);
COMMIT;
