BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0009');
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
INSERT INTO "attempt" VALUES('5e84cde7-ab2a3be3f3ec',1,'8550192dc1bb','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [0], "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',3.66503955300140660256e+00,2.76023238099878653883e+00,'sweeper-logs/5e84cde7/5e84cde7-ab2a3be3f3ec-1.log','2026-11-28 22:04:25.113581','2026-11-28 22:04:31.569481');
INSERT INTO "attempt" VALUES('5e84cde7-45723c405324',1,'2587b7538273','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [1], "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',3.80600309899455169215e+00,2.56506040700332960113e+00,'sweeper-logs/5e84cde7/5e84cde7-45723c405324-1.log','2026-11-28 22:04:25.120842','2026-11-28 22:04:31.518326');
INSERT INTO "attempt" VALUES('5e84cde7-6531229137d0',1,'1b005f3aef68','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "cores": [0], "parameters": 2, "global_batch": 64, "steps": 5, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',3.38994918300159042701e+00,2.10758524099946953356e+00,'sweeper-logs/5e84cde7/5e84cde7-6531229137d0-1.log','2026-11-28 22:04:31.564254','2026-11-28 22:04:39.881523');
CREATE TABLE "evaluation" (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	step BIGINT NOT NULL, 
	images BIGINT, 
	seconds FLOAT, 
	loss FLOAT, 
	accuracy FLOAT, 
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
INSERT INTO "gang" VALUES('8550192dc1bb','5e84cde7',1,'["host"]','[17182]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 22:04:28.683233');
INSERT INTO "gang" VALUES('2587b7538273','5e84cde7',1,'["host"]','[17183]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 22:04:28.814022');
INSERT INTO "gang" VALUES('1b005f3aef68','5e84cde7',2,'["host", "host"]','[17215, 17216]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 22:04:37.641885');
CREATE TABLE "loss_point" (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	step BIGINT NOT NULL, 
	images BIGINT, 
	seconds FLOAT, 
	loss FLOAT, 
	CONSTRAINT pk_loss_point PRIMARY KEY (trial_id, attempt, step), 
	CONSTRAINT fk_loss_point_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "loss_point" VALUES('5e84cde7-45723c405324',1,5,160,8.96878800267586484551e-03,2.56128293275833140985e-01);
INSERT INTO "loss_point" VALUES('5e84cde7-45723c405324',1,10,320,1.25843070054543204605e-02,2.46328982710838306768e-01);
INSERT INTO "loss_point" VALUES('5e84cde7-6531229137d0',1,2,128,6.33398699574172496795e-03,2.63178177177906036376e-01);
INSERT INTO "loss_point" VALUES('5e84cde7-6531229137d0',1,4,256,8.97001999692292883992e-03,0.256332628428936);
INSERT INTO "loss_point" VALUES('5e84cde7-6531229137d0',1,5,320,1.05674959995667450129e-02,2.46006734669208526611e-01);
INSERT INTO "loss_point" VALUES('5e84cde7-ab2a3be3f3ec',1,5,160,0.00886122600059025,2.58638232946395874023e-01);
INSERT INTO "loss_point" VALUES('5e84cde7-ab2a3be3f3ec',1,10,320,1.24559969990514218807e-02,2.53931975364685036389e-01);
CREATE TABLE phase (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	seconds FLOAT NOT NULL, 
	CONSTRAINT pk_phase PRIMARY KEY (trial_id, attempt, name), 
	CONSTRAINT fk_phase_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
);
INSERT INTO "phase" VALUES('5e84cde7-45723c405324',1,'compute',6.1580669862451031804e-03);
INSERT INTO "phase" VALUES('5e84cde7-45723c405324',1,'update',5.4031129984650760889e-03);
INSERT INTO "phase" VALUES('5e84cde7-45723c405324',1,'report',2.25584000872913748025e-04);
INSERT INTO "phase" VALUES('5e84cde7-ab2a3be3f3ec',1,'compute',6.33649099472677335143e-03);
INSERT INTO "phase" VALUES('5e84cde7-ab2a3be3f3ec',1,'update',5.03715599916176870465e-03);
INSERT INTO "phase" VALUES('5e84cde7-ab2a3be3f3ec',1,'report',3.19760001730173826217e-04);
INSERT INTO "phase" VALUES('5e84cde7-6531229137d0',1,'compute',0.00364720998913981);
INSERT INTO "phase" VALUES('5e84cde7-6531229137d0',1,'all-reduce',1.60970899742096662521e-03);
INSERT INTO "phase" VALUES('5e84cde7-6531229137d0',1,'update',3.36018099915236234664e-03);
INSERT INTO "phase" VALUES('5e84cde7-6531229137d0',1,'report',2.73753998044412583112e-04);
CREATE TABLE printed (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	omitted BIGINT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_printed PRIMARY KEY (trial_id, attempt), 
	CONSTRAINT fk_printed_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
);
INSERT INTO "printed" VALUES('5e84cde7-45723c405324',1,0,'a warning of rank 1
');
CREATE TABLE scheduler (
	id VARCHAR(32) NOT NULL, 
	host VARCHAR(200) NOT NULL, 
	process VARCHAR(200) NOT NULL, 
	started_at DATETIME NOT NULL, 
	lease_until DATETIME NOT NULL, 
	CONSTRAINT pk_scheduler PRIMARY KEY (id)
);
CREATE TABLE submission (
	"key" VARCHAR(200) NOT NULL, 
	sweep_id VARCHAR(32) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	submitted_at DATETIME NOT NULL, 
	problem JSON, 
	CONSTRAINT pk_submission PRIMARY KEY ("key"), 
	CONSTRAINT fk_submission_sweep_id FOREIGN KEY(sweep_id) REFERENCES sweep (id) ON DELETE CASCADE, 
	CONSTRAINT uq_submission_sweep_id UNIQUE (sweep_id)
);
INSERT INTO "submission" VALUES('kept-key','5e84cde7','0000000000000000000000000000000000000000000000000000000000000000','2026-11-29 00:00:00.000000',NULL);
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
INSERT INTO "sweep" VALUES('5e84cde7','kept','run','{"name": "kept", "trial": {"model": "neuron", "data": "step-function", "images": 320, "batch_size": null, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}, "space": {"learning_rate": [0.1, 0.5], "batch_size": [32], "workers": [1, 2]}, "objective": {"threshold": 0.5, "over": "seconds", "group_by": ["workers"]}, "search": {"method": "grid", "trials": null, "seed": 0, "study": "group"}, "prune": {"method": "none", "floor": 0.0, "risk": 0.01}, "reuse": "none", "repeats": 1, "retries": 0, "resources": {"cpus_per_worker": 1, "gpus_per_worker": 0, "dollars_per_worker_hour": null}, "limits": {"trial_seconds": null, "stall_seconds": 1800.0}}',0.5,'seconds','["workers"]','2026-11-28 22:04:25.093821',NULL);
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
	area_steps FLOAT, scheduler_id VARCHAR(32), oversubscribed BOOLEAN DEFAULT 0 NOT NULL, derived_from VARCHAR(64), 
	CONSTRAINT pk_trial PRIMARY KEY (id), 
	CONSTRAINT fk_trial_sweep_id FOREIGN KEY(sweep_id) REFERENCES sweep (id) ON DELETE CASCADE
);
INSERT INTO "trial" VALUES('5e84cde7-ab2a3be3f3ec','5e84cde7',0,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0, "dollars_per_worker_hour": null}','completed','',1,2,1,2.53931975364685036389e-01,2.53931975364685036389e-01,1.24559969990514218807e-02,320,10,3.21313809428725848799e-03,8.23877339363098144548e+01,2.57461668550968170166e+00,'e56fb2cad958',0,NULL);
INSERT INTO "trial" VALUES('5e84cde7-45723c405324','5e84cde7',1,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0, "dollars_per_worker_hour": null}','completed','',1,2,1,2.46328982710838306768e-01,2.46328982710838306768e-01,1.25843070054543204605e-02,320,10,3.20548227858519219068e-03,8.11771090030670165998e+01,2.53678465634584426879e+00,'e56fb2cad958',0,NULL);
INSERT INTO "trial" VALUES('5e84cde7-6531229137d0','5e84cde7',2,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0, "dollars_per_worker_hour": null}','completed','',1,3,1,2.46006734669208526611e-01,2.46006734669208526611e-01,1.05674959995667450129e-02,320,5,2.75292850469913488731e-03,8.30103578567504882777e+01,1.29703684151172637939e+00,'e56fb2cad958',0,NULL);
INSERT INTO "trial" VALUES('5e84cde7-480a0ce97861','5e84cde7',3,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0, "dollars_per_worker_hour": null}','pending','',0,0,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL);
CREATE INDEX ix_sweep_name ON sweep (name);
CREATE INDEX ix_gang_sweep_id ON gang (sweep_id);
CREATE INDEX ix_trial_sweep_id_state_workers_position ON trial (sweep_id, state, workers, position);
COMMIT;
