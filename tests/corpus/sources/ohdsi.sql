-- Questions as OHDSI's query library asks them: names with a schema, concepts joined for their names, quartiles by ROW_NUMBER.

-- name: patients_by_gender
-- world: omop
SELECT person.gender_concept_id, concept.concept_name AS gender_name, COUNT(person.person_id) AS num_persons
FROM cdm.person INNER JOIN cdm.concept ON person.gender_concept_id = concept.concept_id
GROUP BY person.gender_concept_id, concept.concept_name
ORDER BY num_persons;

-- name: patients_by_year_of_birth
-- world: omop
SELECT year_of_birth, COUNT(person_id) AS num_persons FROM cdm.person WHERE year_of_birth BETWEEN 1950 AND 1960 GROUP BY year_of_birth ORDER BY year_of_birth;

-- name: distribution_of_year_of_birth
-- world: omop
-- close: 0.002
SELECT MIN(tt.year_of_birth) AS min_year, MAX(tt.year_of_birth) AS max_year, AVG(tt.year_of_birth) AS avg_year,
  MIN(CASE WHEN tt.order_nr < .25 * tt.population_size THEN 9999 ELSE tt.year_of_birth END) AS percentile_25,
  MIN(CASE WHEN tt.order_nr < .50 * tt.population_size THEN 9999 ELSE tt.year_of_birth END) AS median,
  MIN(CASE WHEN tt.order_nr < .75 * tt.population_size THEN 9999 ELSE tt.year_of_birth END) AS percentile_75
FROM (SELECT p.year_of_birth, ROW_NUMBER() OVER (ORDER BY p.year_of_birth) AS order_nr, COUNT(*) OVER () AS population_size FROM cdm.person p) AS tt;

-- name: days_under_observation
-- world: omop
-- plain: SELECT AVG(d) AS mean_days, CAST(QUANTILE_DISC(d, 0.5) AS BIGINT) AS median_days FROM (SELECT DATE_DIFF('day', observation_period_start_date, observation_period_end_date) AS d FROM cdm.observation_period)
-- close: 0.02
WITH tt AS (
  SELECT DATEDIFF(day, observation_period_start_date, observation_period_end_date) AS num_days,
    ROW_NUMBER() OVER (ORDER BY DATEDIFF(day, observation_period_start_date, observation_period_end_date)) AS order_nr,
    (SELECT COUNT(*) FROM cdm.observation_period) AS population_size
  FROM cdm.observation_period
)
SELECT AVG(num_days) AS mean_days, MIN(CASE WHEN order_nr < .5 * population_size THEN 9999 ELSE num_days END) AS median_days FROM tt;

-- name: supply_quartiles_by_drug
-- world: omop
-- close: 0.05
SELECT drug_concept_id, COUNT(*) AS exposures, AVG(quantity) AS avg_quantity,
  MIN(CASE WHEN order_nr < .25 * population_size THEN 9999 ELSE quantity END) AS q1,
  MIN(CASE WHEN order_nr < .75 * population_size THEN 9999 ELSE quantity END) AS q3
FROM (
  SELECT drug_concept_id, quantity, ROW_NUMBER() OVER (PARTITION BY drug_concept_id ORDER BY quantity) AS order_nr,
    COUNT(*) OVER (PARTITION BY drug_concept_id) AS population_size
  FROM cdm.drug_exposure
) AS ordered_data
GROUP BY drug_concept_id
ORDER BY drug_concept_id;

-- name: age_at_first_observation_by_gender
-- world: omop
-- plain: SELECT gender_concept_id, AVG(age) AS mean_age, QUANTILE_DISC(age, 0.25) AS q25, QUANTILE_DISC(age, 0.5) AS median_age, QUANTILE_DISC(age, 0.75) AS q75
--   FROM (SELECT p.gender_concept_id, YEAR(op.observation_period_start_date) - p.year_of_birth AS age FROM cdm.observation_period op JOIN cdm.person p ON op.person_id = p.person_id)
--   GROUP BY gender_concept_id ORDER BY gender_concept_id
-- close: 0.05
WITH ages AS (
  SELECT p.person_id, p.gender_concept_id, YEAR(MIN(op.observation_period_start_date)) - p.year_of_birth AS age
  FROM cdm.observation_period op JOIN cdm.person p ON op.person_id = p.person_id
  GROUP BY p.person_id, p.gender_concept_id, p.year_of_birth
), ranked AS (
  SELECT gender_concept_id, age, ROW_NUMBER() OVER (PARTITION BY gender_concept_id ORDER BY age) AS order_nr, COUNT(*) OVER (PARTITION BY gender_concept_id) AS population_size
  FROM ages
)
SELECT gender_concept_id, AVG(age) AS mean_age,
  MIN(CASE WHEN order_nr >= .25 * population_size THEN age END) AS q25,
  MIN(CASE WHEN order_nr >= .50 * population_size THEN age END) AS median_age,
  MIN(CASE WHEN order_nr >= .75 * population_size THEN age END) AS q75
FROM ranked
GROUP BY gender_concept_id
ORDER BY gender_concept_id;

-- name: refill_percentiles
-- world: omop
-- close: 0.2
SELECT AVG(refills) AS mean_refills, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY refills) AS q25, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY refills) AS median_refills,
  PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY refills) AS q75
FROM cdm.drug_exposure WHERE drug_concept_id IN (1503297, 1539403);

-- name: conditions_per_person_distribution
-- world: omop
-- plain: SELECT COUNT(*) AS num_persons, AVG(n) AS mean_n, QUANTILE_DISC(n, 0.5) AS median_n FROM (SELECT person_id, COUNT(*) AS n FROM cdm.condition_occurrence GROUP BY person_id)
-- close: 0.05
SELECT COUNT(*) AS num_persons, AVG(n) AS mean_n, MIN(CASE WHEN order_nr < .50 * population_size THEN 9999 ELSE n END) AS median_n
FROM (
  SELECT n, ROW_NUMBER() OVER (ORDER BY n) AS order_nr, COUNT(*) OVER () AS population_size
  FROM (SELECT person_id, COUNT(*) AS n FROM cdm.condition_occurrence GROUP BY person_id) AS counted
) AS ordered_data;

-- name: median_supply_by_row_number_in_the_middle
-- world: omop
-- plain: SELECT MEDIAN(days_supply) AS median_days FROM cdm.drug_exposure WHERE days_supply IS NOT NULL
-- close: 0.05
SELECT AVG(days_supply) AS median_days
FROM (
  SELECT days_supply, ROW_NUMBER() OVER (ORDER BY days_supply) AS rn, COUNT(*) OVER () AS cnt FROM cdm.drug_exposure WHERE days_supply IS NOT NULL
) AS x
WHERE rn IN (FLOOR((cnt + 1) / 2), CEIL((cnt + 1) / 2));

-- name: gender_and_race
-- world: omop
SELECT g.concept_name AS gender, r.concept_name AS race, COUNT(*) AS num_persons
FROM cdm.person p JOIN cdm.concept g ON p.gender_concept_id = g.concept_id JOIN cdm.concept r ON p.race_concept_id = r.concept_id
GROUP BY g.concept_name, r.concept_name
ORDER BY gender, race;

-- name: conditions_by_number_of_people
-- world: omop
SELECT c.concept_name, COUNT(DISTINCT co.person_id) AS num_people
FROM cdm.condition_occurrence co, cdm.concept c
WHERE co.condition_concept_id = c.concept_id
GROUP BY c.concept_name
ORDER BY num_people DESC;

-- name: records_per_person
-- world: omop
SELECT COUNT(*) AS num_records, COUNT(DISTINCT person_id) AS num_persons, COUNT(*) * 1.0 / COUNT(DISTINCT person_id) AS records_per_person FROM cdm.condition_occurrence;

-- name: condition_by_age_at_onset
-- world: omop
-- plain: SELECT CAST(FLOOR((YEAR(co.condition_start_date) - p.year_of_birth) / 10) AS BIGINT) AS age_decile, COUNT(DISTINCT p.person_id) AS num_persons
--   FROM cdm.condition_occurrence co JOIN cdm.person p ON co.person_id = p.person_id
--   WHERE co.condition_concept_id = 201820 AND YEAR(co.condition_start_date) - p.year_of_birth BETWEEN 10 AND 79 GROUP BY 1 ORDER BY 1
SELECT FLOOR((YEAR(co.condition_start_date) - p.year_of_birth) / 10) AS age_decile, COUNT(DISTINCT p.person_id) AS num_persons
FROM cdm.condition_occurrence co JOIN cdm.person p ON co.person_id = p.person_id
WHERE co.condition_concept_id = 201820 AND YEAR(co.condition_start_date) - p.year_of_birth BETWEEN 10 AND 79
GROUP BY FLOOR((YEAR(co.condition_start_date) - p.year_of_birth) / 10)
ORDER BY age_decile;

-- name: visits_by_month
-- world: omop
SELECT YEAR(visit_start_date) * 100 + MONTH(visit_start_date) AS calendar_month, COUNT(*) AS num_visits
FROM cdm.visit_occurrence WHERE visit_start_date >= '2011-01-01' AND visit_start_date < '2012-01-01'
GROUP BY YEAR(visit_start_date) * 100 + MONTH(visit_start_date)
ORDER BY calendar_month;

-- name: mean_length_of_stay
-- world: omop
-- plain: SELECT AVG(DATE_DIFF('day', visit_start_date, visit_end_date)) AS mean_stay FROM cdm.visit_occurrence WHERE visit_concept_id = 9201
SELECT AVG(DATEDIFF(day, visit_start_date, visit_end_date)) AS mean_stay FROM cdm.visit_occurrence WHERE visit_concept_id = 9201;

-- name: users_of_metformin_with_diabetes
-- world: omop
SELECT COUNT(DISTINCT de.person_id) AS num_persons
FROM cdm.drug_exposure de JOIN cdm.condition_occurrence co ON de.person_id = co.person_id
WHERE de.drug_concept_id = 1503297 AND co.condition_concept_id = 201820 AND co.condition_start_date <= de.drug_exposure_start_date;

-- name: drugs_by_name
-- world: omop
SELECT concept.concept_name AS drug_name, COUNT(*) AS num_records, SUM(refills) AS refills
FROM cdm.drug_exposure JOIN cdm.concept ON drug_concept_id = concept_id
WHERE LOWER(domain_id) = 'drug' AND vocabulary_id = 'RxNorm'
GROUP BY concept.concept_name
ORDER BY drug_name;

-- name: first_drug_of_each_person
-- world: omop
SELECT drug_concept_id, COUNT(*) AS num_first
FROM (SELECT person_id, drug_concept_id, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY drug_exposure_start_date, drug_exposure_id) AS ordinal FROM cdm.drug_exposure) AS e
WHERE ordinal = 1
GROUP BY drug_concept_id
ORDER BY drug_concept_id;

-- name: drug_within_a_month_of_diagnosis
-- world: omop
-- plain: SELECT COUNT(DISTINCT co.person_id) AS num_persons FROM cdm.condition_occurrence co INNER JOIN cdm.drug_exposure de ON co.person_id = de.person_id
--   WHERE co.condition_concept_id = 316866 AND de.drug_exposure_start_date BETWEEN co.condition_start_date AND co.condition_start_date + INTERVAL 30 DAY
SELECT COUNT(DISTINCT co.person_id) AS num_persons
FROM cdm.condition_occurrence co INNER JOIN cdm.drug_exposure de ON co.person_id = de.person_id
WHERE co.condition_concept_id = 316866 AND de.drug_exposure_start_date BETWEEN co.condition_start_date AND DATEADD(day, 30, co.condition_start_date);

-- name: missing_month_and_location
-- world: omop
SELECT COUNT(*) AS persons, SUM(CASE WHEN month_of_birth IS NULL THEN 1 ELSE 0 END) AS no_month, SUM(CASE WHEN location_id IS NULL THEN 1 ELSE 0 END) AS no_location FROM cdm.person;

-- name: people_without_drugs
-- world: omop
SELECT COUNT(*) AS num_persons FROM cdm.person p WHERE NOT EXISTS (SELECT 1 FROM cdm.drug_exposure d WHERE d.person_id = p.person_id);

-- name: distinct_conditions_per_person
-- world: omop
SELECT num_conditions, COUNT(*) AS num_persons
FROM (SELECT person_id, COUNT(DISTINCT condition_concept_id) AS num_conditions FROM cdm.condition_occurrence GROUP BY person_id) AS t
GROUP BY num_conditions
ORDER BY num_conditions;

-- name: deaths_by_gender
-- world: omop
SELECT c.concept_name AS gender, COUNT(d.person_id) AS deaths, COUNT(p.person_id) AS persons
FROM cdm.person p LEFT JOIN cdm.death d ON d.person_id = p.person_id JOIN cdm.concept c ON c.concept_id = p.gender_concept_id
GROUP BY c.concept_name
ORDER BY gender;

-- name: days_supply_with_isnull
-- world: omop
-- plain: SELECT drug_concept_id, AVG(COALESCE(days_supply, 30)) AS days FROM cdm.drug_exposure GROUP BY drug_concept_id ORDER BY drug_concept_id
SELECT drug_concept_id, AVG(ISNULL(days_supply, 30)) AS days FROM cdm.drug_exposure GROUP BY drug_concept_id ORDER BY drug_concept_id;

-- name: concepts_of_a_vocabulary
-- world: omop
SELECT concept_id, concept_name FROM cdm.concept WHERE vocabulary_id = 'SNOMED' ORDER BY concept_id;

-- name: records_of_one_patient
-- world: omop
-- refused: single rows
SELECT condition_concept_id, condition_start_date FROM cdm.condition_occurrence WHERE person_id = 18;

-- name: dates_of_death
-- world: omop
-- refused: single rows
SELECT person_id, death_date FROM cdm.death;
