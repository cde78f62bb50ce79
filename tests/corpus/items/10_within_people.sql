-- Item 10: NOT IN, EXISTS, NOT EXISTS, links, anti-joins, windows with frames, FULL JOIN, unions, all within a person;
-- and counts of groups across people.

-- name: not_in_people
-- world: clinic
SELECT sex, COUNT(*) AS n FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE urgent) GROUP BY sex;

-- name: exists_of_a_person
-- world: clinic
SELECT COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.ward = 'D');

-- name: not_exists_of_a_person
-- world: clinic
SELECT p.city, COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > 700) GROUP BY p.city;

-- name: exists_with_another_condition
-- world: clinic
SELECT COUNT(*) AS n FROM visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE b.patient_id = a.patient_id AND b.day > a.day);

-- name: not_exists_of_a_later_visit
-- world: clinic
SELECT a.ward, COUNT(*) AS last_visits
FROM visits a
WHERE NOT EXISTS (SELECT 1 FROM visits b WHERE a.patient_id = b.patient_id AND b.day > a.day AND b.ward = a.ward)
GROUP BY a.ward;

-- name: exists_or_a_condition
-- world: clinic
SELECT COUNT(*) AS n FROM patients p
WHERE p.birth_year < 1950 OR EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.nights > 10);

-- name: in_on_a_link
-- world: clinic
SELECT ward, COUNT(*) AS n FROM visits WHERE visit_id IN (SELECT visit_id FROM prescriptions WHERE drug_id = 4) GROUP BY ward;

-- name: not_in_on_a_link
-- world: clinic
SELECT COUNT(*) AS without_drugs FROM visits WHERE visit_id NOT IN (SELECT visit_id FROM prescriptions);

-- name: exists_on_a_link
-- world: clinic
SELECT AVG(cost) AS cost FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions r WHERE r.visit_id = v.visit_id AND r.days > 30);

-- name: in_through_two_tables
-- world: clinic
SELECT sex, COUNT(*) AS n FROM patients
WHERE patient_id IN (SELECT v.patient_id FROM visits v JOIN prescriptions r ON r.visit_id = v.visit_id JOIN drugs d ON d.drug_id = r.drug_id WHERE d.family = 'opioid')
GROUP BY sex;

-- name: in_and_not_in
-- world: clinic
SELECT COUNT(*) AS n FROM patients
WHERE patient_id IN (SELECT patient_id FROM visits WHERE ward = 'A') AND patient_id NOT IN (SELECT patient_id FROM visits WHERE ward = 'B');

-- name: anti_join
-- world: clinic
SELECT COUNT(*) AS never FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id WHERE v.patient_id IS NULL;

-- name: anti_join_with_a_condition
-- world: clinic
SELECT p.sex, COUNT(*) AS n FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id AND v.urgent WHERE v.visit_id IS NULL GROUP BY p.sex;

-- name: anti_join_keyword
-- world: clinic
SELECT COUNT(*) AS n FROM patients p ANTI JOIN visits v ON v.patient_id = p.patient_id;

-- name: semi_join_keyword
-- world: clinic
SELECT sex, COUNT(*) AS n FROM patients p SEMI JOIN visits v ON v.patient_id = p.patient_id GROUP BY sex;

-- name: running_sum_within_a_person
-- world: clinic
SELECT COUNT(*) AS n FROM (
  SELECT patient_id, SUM(nights) OVER (PARTITION BY patient_id ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far FROM visits
) t WHERE so_far > 15;

-- name: total_within_a_person
-- world: clinic
SELECT ward, COUNT(*) AS n FROM (SELECT patient_id, ward, SUM(nights) OVER (PARTITION BY patient_id) AS total FROM visits) WHERE total >= 20 GROUP BY ward;

-- name: count_and_max_within_a_person
-- world: clinic
SELECT c, COUNT(*) AS n FROM (
  SELECT patient_id, nights, COUNT(*) OVER (PARTITION BY patient_id) AS c, MAX(nights) OVER (PARTITION BY patient_id) AS m FROM visits
) t WHERE nights = m AND c <= 6 GROUP BY c ORDER BY c;

-- name: moving_average_within_a_person
-- world: clinic
SELECT COUNT(*) AS n FROM (
  SELECT patient_id, AVG(nights) OVER (PARTITION BY patient_id ORDER BY day, visit_id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a FROM visits
) t WHERE a > 6;

-- name: days_since_the_visit_before
-- world: clinic
SELECT AVG(LEAST(gap, 1000)) AS gap FROM (
  SELECT patient_id, DATE_DIFF('day', LAG(day) OVER (PARTITION BY patient_id ORDER BY day, visit_id), day) AS gap FROM visits
) t WHERE gap IS NOT NULL;

-- name: full_join_within_a_person
-- world: clinic
SELECT COUNT(*) AS n
FROM (SELECT patient_id, COUNT(*) AS a FROM visits WHERE ward = 'A' GROUP BY patient_id) x
FULL OUTER JOIN (SELECT patient_id, COUNT(*) AS b FROM visits WHERE ward = 'B' GROUP BY patient_id) y ON x.patient_id = y.patient_id
WHERE x.a IS NULL OR y.b IS NULL;

-- name: full_join_with_using
-- world: clinic
SELECT COALESCE(a, 0) AS a, COALESCE(b, 0) AS b, COUNT(*) AS people
FROM (SELECT patient_id, COUNT(*) AS a FROM visits WHERE ward = 'C' GROUP BY patient_id) x
FULL JOIN (SELECT patient_id, COUNT(*) AS b FROM visits WHERE ward = 'D' GROUP BY patient_id) y USING (patient_id)
GROUP BY 1, 2;

-- name: join_by_another_key
-- world: clinic
-- plain: SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.ward = b.ward AND a.visit_id < b.visit_id AND a.patient_id = b.patient_id
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.ward = b.ward AND a.visit_id < b.visit_id AND a.patient_id = b.patient_id;

-- name: join_by_another_key_of_both
-- world: clinic
SELECT v.ward, SUM(b.amount) AS billed FROM visits v JOIN bills b ON b.visit_id = v.visit_id GROUP BY v.ward;

-- name: join_by_another_key_in_where
-- world: clinic
SELECT b.code, COUNT(*) AS n FROM visits v, bills b WHERE v.visit_id = b.visit_id AND v.urgent GROUP BY b.code;

-- name: left_join_by_another_key
-- world: clinic
SELECT v.ward, COUNT(*) AS unbilled FROM visits v LEFT JOIN bills b ON b.visit_id = v.visit_id WHERE b.bill_id IS NULL GROUP BY v.ward;

-- name: union_of_people
-- world: clinic
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM visits WHERE ward = 'A' UNION SELECT patient_id FROM visits WHERE nights > 8) u;

-- name: union_all_of_people
-- world: clinic
SELECT what, COUNT(*) AS n FROM (
  SELECT patient_id, 'visit' AS what FROM visits UNION ALL SELECT patient_id, 'registration' AS what FROM patients
) u GROUP BY what;

-- name: intersect_of_people
-- world: clinic
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM visits WHERE ward = 'A' INTERSECT SELECT patient_id FROM visits WHERE ward = 'C') u;

-- name: except_of_people
-- world: clinic
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM patients EXCEPT SELECT patient_id FROM visits) u;

-- name: union_of_people_and_wards
-- world: clinic
SELECT ward, COUNT(*) AS people FROM (
  SELECT patient_id, ward FROM visits WHERE urgent UNION SELECT patient_id, ward FROM visits WHERE cost > 500
) u GROUP BY ward;

-- name: people_in_both_by_in
-- world: clinic
SELECT sex, COUNT(*) AS n FROM patients
WHERE patient_id IN (SELECT patient_id FROM visits WHERE ward = 'A' INTERSECT SELECT patient_id FROM visits WHERE ward = 'B')
GROUP BY sex;

-- name: union_all_of_rows
-- world: sensors
SELECT kind, COUNT(*) AS n, AVG(level) AS level
FROM (SELECT kind, level FROM indoor UNION ALL SELECT kind, level FROM outdoor) AS both_places
GROUP BY kind;

-- name: union_all_of_rows_with_labels
-- world: sensors
SELECT place, COUNT(*) AS n FROM (SELECT 'in' AS place, level FROM indoor UNION ALL SELECT 'out', level FROM outdoor WHERE level > 20) t GROUP BY place;

-- name: how_many_cities_have_a_visit
-- world: clinic
SELECT COUNT(DISTINCT p.city) AS cities FROM patients p JOIN visits v ON v.patient_id = p.patient_id;

-- name: count_of_distinct_groups
-- world: clinic
SELECT COUNT(*) AS wards FROM (SELECT DISTINCT ward FROM visits) t;

-- name: count_of_groups
-- world: clinic
SELECT COUNT(*) AS pairs FROM (SELECT city, plan FROM patients WHERE city IS NOT NULL GROUP BY city, plan) g;

-- name: people_with_more_than_three_visits
-- world: clinic
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 3) t;

-- name: exists_of_other_people
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM patients q WHERE q.birth_year = p.birth_year AND q.patient_id <> p.patient_id);

-- name: not_in_other_values
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM patients WHERE city NOT IN (SELECT p.city FROM patients p WHERE p.smoker);

-- name: running_total_of_everybody
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM (SELECT SUM(nights) OVER (ORDER BY day) AS s FROM visits) t WHERE s > 100;

-- name: riders_without_trips
-- world: bikes
SELECT tariff, COUNT(*) AS n FROM riders r WHERE NOT EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = r.rider_id) GROUP BY tariff;

-- name: in_a_grouped_sub_query
-- world: bikes
SELECT member, COUNT(*) AS n FROM riders WHERE rider_id IN (SELECT rider_id FROM trips GROUP BY rider_id HAVING SUM(price) > 40) GROUP BY member;

-- name: not_in_a_grouped_sub_query
-- world: bikes
SELECT COUNT(*) AS n FROM trips WHERE rider_id NOT IN (SELECT rider_id FROM trips WHERE km IS NOT NULL GROUP BY rider_id HAVING MAX(km) > 20);

-- name: above_a_persons_own_mean
-- world: bikes
-- plain: SELECT COUNT(*) AS n FROM trips t WHERE t.price > (SELECT AVG(u.price) + 1e-9 FROM trips u WHERE u.rider_id = t.rider_id)
SELECT COUNT(*) AS n FROM trips t WHERE t.price > (SELECT AVG(u.price) FROM trips u WHERE u.rider_id = t.rider_id);

-- name: count_of_a_persons_rows_as_a_scalar
-- world: bikes
SELECT r.tariff, AVG((SELECT COUNT(*) FROM trips t WHERE t.rider_id = r.rider_id)) AS trips FROM riders r GROUP BY r.tariff;

-- name: persons_rows_in_condition
-- world: bikes
SELECT COUNT(*) AS n FROM riders r WHERE (SELECT COUNT(*) FROM trips t WHERE t.rider_id = r.rider_id AND t.km > 5) >= 3;

-- name: first_and_next_trip
-- world: bikes
SELECT COUNT(*) AS n FROM (
  SELECT rider_id, from_station, LAG(to_station) OVER (PARTITION BY rider_id ORDER BY started, trip_id) AS before FROM trips
) t WHERE from_station = before;

-- name: qualify_within_a_person
-- world: bikes
SELECT MONTH(started) AS m, COUNT(*) AS n
FROM (SELECT rider_id, started FROM trips QUALIFY ROW_NUMBER() OVER (PARTITION BY rider_id ORDER BY started, trip_id) = 1) t
GROUP BY 1 ORDER BY 1;

-- name: share_of_a_persons_total
-- world: bikes
SELECT COUNT(*) AS n FROM (
  SELECT rider_id, price, SUM(price) OVER (PARTITION BY rider_id) AS total FROM trips
) t WHERE price > 0.5 * total;

-- name: window_by_person_and_more
-- world: bikes
SELECT c, COUNT(*) AS n FROM (
  SELECT rider_id, trip_id, COUNT(*) OVER (PARTITION BY rider_id, MONTH(started)) AS c FROM trips
) t WHERE c <= 3 GROUP BY c ORDER BY c;

-- name: full_join_of_people
-- world: bikes
SELECT COUNT(*) AS n, COUNT(t.trip_id) AS trips FROM riders r FULL OUTER JOIN trips t ON t.rider_id = r.rider_id;

-- name: intersect_with_more_columns
-- world: bikes
SELECT station, COUNT(*) AS people FROM (
  SELECT rider_id, from_station AS station FROM trips INTERSECT SELECT rider_id, to_station FROM trips
) t GROUP BY station ORDER BY station;

-- name: except_within_in
-- world: bikes
SELECT COUNT(*) AS n FROM riders WHERE rider_id IN (SELECT rider_id FROM trips WHERE km > 10 EXCEPT SELECT rider_id FROM trips WHERE km < 1);

-- name: count_of_pairs_of_groups
-- world: bikes
SELECT COUNT(*) AS routes FROM (SELECT DISTINCT from_station, to_station FROM trips WHERE to_station IS NOT NULL) t;

-- name: count_distinct_of_an_expression
-- world: bikes
SELECT COUNT(DISTINCT CAST(started AS DATE)) AS days, COUNT(DISTINCT rider_id) AS riders FROM trips WHERE km > 23;

-- name: people_by_number_of_trips
-- world: bikes
SELECT trips, COUNT(*) AS riders
FROM (SELECT r.rider_id, COUNT(t.trip_id) AS trips FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id GROUP BY r.rider_id) x
GROUP BY trips
ORDER BY trips;

-- name: first_visit_by_qualify
-- world: clinic
SELECT ward, COUNT(*) AS n FROM (SELECT patient_id, ward FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day, visit_id) = 1) AS f WHERE ward <> 'E' GROUP BY ward ORDER BY ward;

-- name: qualify_by_an_alias
-- world: clinic
SELECT COUNT(*) AS n FROM (SELECT patient_id, ward, RANK() OVER (PARTITION BY patient_id ORDER BY cost DESC) AS place FROM visits QUALIFY place <= 2) AS f;

-- name: qualify_by_a_count_of_rows
-- world: clinic
SELECT COUNT(*) AS n FROM (SELECT patient_id, cost FROM visits WHERE urgent QUALIFY COUNT(*) OVER (PARTITION BY patient_id) > 1) AS f;

-- name: qualify_in_a_cte
-- world: clinic
WITH last AS (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC, visit_id DESC) = 1) SELECT COUNT(*) AS n, SUM(nights) AS s FROM last;

-- name: qualify_over_everybody
-- world: clinic
-- refused: unsupported
SELECT COUNT(*) AS n FROM (SELECT visit_id FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY day) <= 10) AS f;
