CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE concept AS
SELECT * FROM (VALUES (8507, 'MALE', 'Gender', 'Gender'), (8532, 'FEMALE', 'Gender', 'Gender'), (8527, 'White', 'Race', 'Race'), (8516, 'Black', 'Race', 'Race'), (8515, 'Asian', 'Race', 'Race'),
  (201820, 'Diabetes mellitus', 'Condition', 'SNOMED'), (316866, 'Hypertensive disorder', 'Condition', 'SNOMED'), (317009, 'Asthma', 'Condition', 'SNOMED'), (4112343, 'Sore throat', 'Condition', 'SNOMED'),
  (1503297, 'metformin', 'Drug', 'RxNorm'), (1112807, 'aspirin', 'Drug', 'RxNorm'), (1539403, 'simvastatin', 'Drug', 'RxNorm'),
  (9201, 'Inpatient Visit', 'Visit', 'Visit'), (9202, 'Outpatient Visit', 'Visit', 'Visit'), (9203, 'Emergency Room Visit', 'Visit', 'Visit')) t(concept_id, concept_name, domain_id, vocabulary_id);
CREATE TABLE person AS
SELECT i AS person_id, CASE WHEN pick(i, 1) % 9 < 4 THEN 8507 ELSE 8532 END AS gender_concept_id, 1930 + pick(i, 2) % 80 AS year_of_birth,
  CASE WHEN i % 31 = 0 THEN NULL ELSE 1 + pick(i, 3) % 12 END AS month_of_birth, [8527, 8527, 8516, 8515][1 + pick(i, 4) % 4] AS race_concept_id, CASE WHEN i % 8 = 0 THEN NULL ELSE 1 + pick(i, 5) % 6 END AS location_id
FROM range(1, 1001) t(i);
CREATE TABLE observation_period AS
SELECT i AS observation_period_id, i AS person_id, DATE '2008-01-01' + CAST(pick(i, 6) % 2000 AS INTEGER) AS observation_period_start_date,
  DATE '2008-01-01' + CAST(pick(i, 6) % 2000 + 30 + pick(i, 7) % 1500 AS INTEGER) AS observation_period_end_date
FROM range(1, 1001) t(i);
CREATE TABLE visit_occurrence AS
SELECT i AS visit_occurrence_id, 1 + pick(i, 8) % 900 AS person_id, [9201, 9202, 9202, 9203][1 + pick(i, 9) % 4] AS visit_concept_id, DATE '2010-01-01' + CAST(pick(i, 10) % 1460 AS INTEGER) AS visit_start_date,
  DATE '2010-01-01' + CAST(pick(i, 10) % 1460 + CASE WHEN pick(i, 9) % 4 = 0 THEN 1 + pick(i, 11) % 20 ELSE 0 END AS INTEGER) AS visit_end_date
FROM range(1, 3001) t(i);
CREATE TABLE condition_occurrence AS
SELECT i AS condition_occurrence_id, 1 + pick(i, 12) % 850 AS person_id, [201820, 316866, 317009, 4112343][1 + pick(i, 13) % 4] AS condition_concept_id, DATE '2010-01-01' + CAST(pick(i, 14) % 1460 AS INTEGER) AS condition_start_date,
  CASE WHEN i % 5 = 0 THEN NULL ELSE DATE '2010-01-01' + CAST(pick(i, 14) % 1460 + pick(i, 15) % 60 AS INTEGER) END AS condition_end_date
FROM range(1, 2501) t(i);
CREATE TABLE drug_exposure AS
SELECT i AS drug_exposure_id, 1 + pick(i, 16) % 800 AS person_id, [1503297, 1112807, 1539403][1 + pick(i, 17) % 3] AS drug_concept_id, DATE '2010-01-01' + CAST(pick(i, 18) % 1460 AS INTEGER) AS drug_exposure_start_date,
  CASE WHEN i % 7 = 0 THEN NULL ELSE [30, 60, 90][1 + pick(i, 19) % 3] END AS days_supply, CAST(10 * (1 + pick(i, 20) % 12) AS DOUBLE) AS quantity, pick(i, 21) % 6 AS refills
FROM range(1, 2801) t(i);
CREATE TABLE death AS SELECT i AS person_id, DATE '2014-01-01' + CAST(pick(i, 22) % 365 AS INTEGER) AS death_date FROM range(1, 1001) t(i) WHERE pick(i, 23) % 12 = 0;
