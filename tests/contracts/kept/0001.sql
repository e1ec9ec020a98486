BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
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
INSERT INTO "attempt" VALUES('aa9c6632-ab2a3be3f3ec',1,'8cc40d28da5b','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',4.86758981499588117003e+00,4.00394623800093540921e+00,'sweeper-logs/aa9c6632/aa9c6632-ab2a3be3f3ec-1.log','2026-11-28 15:14:47.472395','2026-11-28 15:14:56.416886');
INSERT INTO "attempt" VALUES('aa9c6632-45723c405324',1,'59e546631b07','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "parameters": 2, "global_batch": 32, "steps": 10, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',4.89022753399331122636e+00,4.15764709799987,'sweeper-logs/aa9c6632/aa9c6632-45723c405324-1.log','2026-11-28 15:14:47.477115','2026-11-28 15:14:56.554772');
INSERT INTO "attempt" VALUES('aa9c6632-6531229137d0',1,'fc9bb8431adc','completed','','','{"device": "cpu", "device_name": "x86_64", "threads": 1, "parameters": 2, "global_batch": 64, "steps": 5, "exchange": "all-reduce, gradients averaged", "messages": "host", "precision": "float32", "captured": false}',4.30402476600284,3.40214417999959550797e+00,'sweeper-logs/aa9c6632/aa9c6632-6531229137d0-1.log','2026-11-28 15:14:56.558874','2026-11-28 15:15:07.759611');
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
INSERT INTO "gang" VALUES('8cc40d28da5b','aa9c6632',1,'["host"]','[29566]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 15:14:52.123274');
INSERT INTO "gang" VALUES('59e546631b07','aa9c6632',1,'["host"]','[29569]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 15:14:52.231682');
INSERT INTO "gang" VALUES('fc9bb8431adc','aa9c6632',2,'["host", "host"]','[29579, 29580]','{"python": "3.11.7", "torch": "2.13.0+cpu", "mpi4py": "4.1.2", "mpi": "MPICH Version:      5.0.2"}','2026-11-28 15:15:04.206352');
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
INSERT INTO "loss_point" VALUES('aa9c6632-45723c405324',1,5,160,1.14434679999249055981e-02,2.56128293275833140985e-01);
INSERT INTO "loss_point" VALUES('aa9c6632-45723c405324',1,10,320,1.64733190031256526708e-02,2.46328982710838306768e-01);
INSERT INTO "loss_point" VALUES('aa9c6632-6531229137d0',1,2,128,1.16731279995292425155e-02,2.63178177177906036376e-01);
INSERT INTO "loss_point" VALUES('aa9c6632-6531229137d0',1,4,256,1.88007229953655041754e-02,0.256332628428936);
INSERT INTO "loss_point" VALUES('aa9c6632-6531229137d0',1,5,320,2.04871259993524290621e-02,2.46006734669208526611e-01);
INSERT INTO "loss_point" VALUES('aa9c6632-ab2a3be3f3ec',1,5,160,1.24613070001942105591e-02,2.58638232946395874023e-01);
INSERT INTO "loss_point" VALUES('aa9c6632-ab2a3be3f3ec',1,10,320,2.82766929958597756922e-02,2.53931975364685036389e-01);
CREATE TABLE phase (
	trial_id VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	name VARCHAR(32) NOT NULL, 
	seconds FLOAT NOT NULL, 
	CONSTRAINT pk_phase PRIMARY KEY (trial_id, attempt, name), 
	CONSTRAINT fk_phase_trial_id_attempt FOREIGN KEY(trial_id, attempt) REFERENCES attempt (trial_id, number) ON DELETE CASCADE
);
INSERT INTO "phase" VALUES('aa9c6632-ab2a3be3f3ec',1,'compute',1.04387560058967210352e-02);
INSERT INTO "phase" VALUES('aa9c6632-ab2a3be3f3ec',1,'update',0.00775698600045871);
INSERT INTO "phase" VALUES('aa9c6632-ab2a3be3f3ec',1,'report',2.6835400058189406991e-04);
INSERT INTO "phase" VALUES('aa9c6632-45723c405324',1,'compute',7.78410799830453470349e-03);
INSERT INTO "phase" VALUES('aa9c6632-45723c405324',1,'update',6.62704600108554586768e-03);
INSERT INTO "phase" VALUES('aa9c6632-45723c405324',1,'report',2.53565995080862194299e-04);
INSERT INTO "phase" VALUES('aa9c6632-6531229137d0',1,'compute',4.60923100035870447754e-03);
INSERT INTO "phase" VALUES('aa9c6632-6531229137d0',1,'all-reduce',7.62562100135255604982e-03);
INSERT INTO "phase" VALUES('aa9c6632-6531229137d0',1,'update',4.44467498891754075884e-03);
INSERT INTO "phase" VALUES('aa9c6632-6531229137d0',1,'report',2.61881199548952281475e-03);
CREATE TABLE sweep (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	origin VARCHAR(16) NOT NULL, 
	spec JSON, 
	threshold FLOAT, 
	over VARCHAR(16) NOT NULL, 
	group_by JSON NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_sweep PRIMARY KEY (id)
);
INSERT INTO "sweep" VALUES('aa9c6632','kept','run','{"name": "kept", "trial": {"model": "neuron", "data": "step-function", "images": 320, "batch_size": null, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}, "space": {"learning_rate": [0.1, 0.5], "batch_size": [32], "workers": [1, 2]}, "objective": {"threshold": 0.5, "over": "seconds", "group_by": ["workers"]}, "search": "grid", "prune": "none", "repeats": 1, "retries": 0, "resources": {"cpus_per_worker": 1, "gpus_per_worker": 0}}',0.5,'seconds','["workers"]','2026-11-28 15:14:47.441422');
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
	area_steps FLOAT, 
	CONSTRAINT pk_trial PRIMARY KEY (id), 
	CONSTRAINT fk_trial_sweep_id FOREIGN KEY(sweep_id) REFERENCES sweep (id) ON DELETE CASCADE
);
INSERT INTO "trial" VALUES('aa9c6632-ab2a3be3f3ec','aa9c6632',0,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,2,1,2.53931975364685036389e-01,2.53931975364685036389e-01,2.82766929958597756922e-02,320,10,4.05324784715922498828e-03,4.10056166648864746111e+01,1.28142552077770233154e+00);
INSERT INTO "trial" VALUES('aa9c6632-45723c405324','aa9c6632',1,1,'{"workers": 1, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,2,1,2.46328982710838306768e-01,2.46328982710838306768e-01,1.64733190031256526708e-02,320,10,1.26364261684353690329e-03,4.01965820789337158203e+01,1.25614318996667861938e+00);
INSERT INTO "trial" VALUES('aa9c6632-6531229137d0','aa9c6632',2,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.1}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.1, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','completed','',1,3,1,2.46006734669208526611e-01,2.46006734669208526611e-01,2.04871259993524290621e-02,320,5,2.27500461463789067223e-03,4.93235511779785156232e+01,7.7068048715591430664e-01);
INSERT INTO "trial" VALUES('aa9c6632-480a0ce97861','aa9c6632',3,2,'{"workers": 2, "batch_size": 32, "learning_rate": 0.5}','{"model": "neuron", "data": "step-function", "images": 320, "batch_size": 32, "global_batch_size": null, "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "augmentation": {"flip": false, "shift": 0, "cutout": 0, "instances": 1}, "schedule": {"kind": "constant", "warm_up": 0.0, "milestones": [0.5, 0.75], "factor": 0.1, "linear_scaling": false}, "initial_weights": "torch", "fc": "fused", "exchange": {"method": "auto", "average": "gradients", "every": 1, "overlap": "auto"}, "points": 2, "evaluate_every": null, "checkpoint_every": null, "seed": 0, "device": "auto", "precision": "tf32", "compile": false}','{"cpus_per_worker": 1, "gpus_per_worker": 0}','pending','',0,0,1,NULL,2.42359250783920288085e-01,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX ix_sweep_name ON sweep (name);
CREATE INDEX ix_gang_sweep_id ON gang (sweep_id);
CREATE INDEX ix_trial_sweep_id_state ON trial (sweep_id, state);
COMMIT;
