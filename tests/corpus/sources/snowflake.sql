-- Questions as Snowflake's pages about privacy policies ask them: domains declared or narrowed in the question, joins on the entity key.

-- name: count_by_plan
-- world: claims
SELECT plan, COUNT(*) AS n FROM patients GROUP BY plan ORDER BY plan;

-- name: noise_interval
-- world: claims
-- plain: SELECT SUM(amount) AS total, SUM(amount) AS low, SUM(amount) AS high FROM claims
-- close: 0.001
SELECT SUM(amount) AS total, DP_INTERVAL_LOW(total) AS low, DP_INTERVAL_HIGH(total) AS high FROM claims;

-- name: noise_interval_by_group
-- world: claims
-- plain: SELECT state, COUNT(*) AS num, COUNT(*) AS interval_low, COUNT(*) AS interval_high FROM patients GROUP BY state ORDER BY state
-- close: 0.001
SELECT state, COUNT(*) AS num, DP_INTERVAL_LOW(num) AS interval_low, DP_INTERVAL_HIGH(num) AS interval_high FROM patients GROUP BY state ORDER BY state;

-- name: domain_from_where
-- world: claims
SELECT AVG(amount) AS mean FROM claims WHERE amount BETWEEN 100 AND 900;

-- name: domain_by_clamping
-- world: claims
SELECT category, AVG(GREATEST(LEAST(amount, 1000), 0)) AS mean FROM claims GROUP BY category ORDER BY category;

-- name: join_on_entity_key
-- world: claims
SELECT p.plan, SUM(c.amount) AS paid FROM patients AS p INNER JOIN claims AS c ON p.patient_id = c.patient_id WHERE NOT c.denied GROUP BY p.plan ORDER BY p.plan;

-- name: join_using
-- world: claims
SELECT state, COUNT(DISTINCT patient_id) AS people FROM claims JOIN patients USING (patient_id) WHERE category = 'dental' GROUP BY state ORDER BY state;

-- name: deduplicated_per_patient
-- world: claims
WITH per_patient AS (SELECT patient_id, COUNT(*) AS num_claims, MAX(amount) AS largest FROM claims GROUP BY patient_id)
SELECT AVG(num_claims) AS mean_claims, AVG(largest) AS mean_largest FROM per_patient WHERE num_claims < 10;

-- name: regions
-- world: claims
SELECT s.region, AVG(p.age) AS age FROM patients p JOIN states s ON p.state = s.state GROUP BY s.region ORDER BY s.region;

-- name: iff_and_nvl
-- world: claims
-- plain: SELECT CASE WHEN age >= 65 THEN 'senior' ELSE 'adult' END AS age_group, AVG(COALESCE(height_cm, 170)) AS height FROM patients GROUP BY 1 ORDER BY 1
SELECT IFF(age >= 65, 'senior', 'adult') AS age_group, AVG(NVL(height_cm, 170)) AS height FROM patients GROUP BY age_group ORDER BY age_group;

-- name: count_if
-- world: claims
-- plain: SELECT category, COUNT_IF(denied) AS denied, COUNT(*) AS n FROM claims GROUP BY category ORDER BY category
SELECT category, COUNT_IF(denied) AS denied, COUNT(*) AS n FROM claims GROUP BY ALL ORDER BY category;

-- name: monthly_amounts
-- world: claims
SELECT DATE_TRUNC('month', claim_date) AS month, SUM(amount) AS total FROM claims GROUP BY DATE_TRUNC('month', claim_date) ORDER BY month;

-- name: three_part_names
-- world: claims
-- plain: SELECT state, COUNT(*) AS n FROM patients WHERE age > 40 GROUP BY state ORDER BY state
SELECT state, COUNT(*) AS n FROM insurer.public.patients WHERE age > 40 GROUP BY state ORDER BY state;

-- name: union_of_two_kinds
-- world: claims
SELECT category, COUNT(DISTINCT patient_id) AS people
FROM (SELECT patient_id, category FROM claims WHERE category = 'dental' UNION SELECT patient_id, category FROM claims WHERE category = 'vision') AS u
GROUP BY category ORDER BY category;

-- name: windowed_share
-- world: claims
SELECT plan, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM patients GROUP BY plan ORDER BY plan;

-- name: full_join_within_a_patient
-- world: claims
SELECT COUNT(*) AS n FROM patients p FULL OUTER JOIN claims c ON p.patient_id = c.patient_id;

-- name: spread_by_state
-- world: claims
SELECT state, STDDEV(age) AS age_spread, VARIANCE(height_cm) AS height_variance FROM patients GROUP BY state ORDER BY state;

-- name: rows_of_patients
-- world: claims
-- refused: *
SELECT * FROM patients WHERE state = 'CA' LIMIT 10;

-- name: by_entity
-- world: claims
-- refused: patient_id
SELECT patient_id, SUM(amount) AS total FROM claims GROUP BY patient_id;
