-- Item 6: tables with commas between and equalities in WHERE; columns that one table alone has.

-- name: two_tables_of_a_person
-- world: clinic
SELECT p.sex, COUNT(*) AS n FROM patients p, visits v WHERE p.patient_id = v.patient_id GROUP BY p.sex;

-- name: unqualified_columns
-- world: clinic
SELECT sex, ward, SUM(nights) AS nights FROM patients, visits WHERE patients.patient_id = visits.patient_id GROUP BY sex, ward;

-- name: with_a_public_table
-- world: clinic
select w.title, count(*) as n from visits v, wards w where v.ward = w.ward group by w.title order by n desc;

-- name: through_a_link
-- world: clinic
SELECT v.ward, AVG(r.days) AS days FROM prescriptions r, visits v WHERE r.visit_id = v.visit_id AND v.ward <> 'E' GROUP BY v.ward;

-- name: three_tables
-- world: clinic
SELECT p.city, COUNT(DISTINCT p.patient_id) AS people
FROM patients p, visits v, prescriptions r
WHERE p.patient_id = v.patient_id AND v.visit_id = r.visit_id AND r.days > 20
GROUP BY p.city;

-- name: four_tables_and_a_public_one
-- world: clinic
SELECT d.family, p.sex, SUM(r.dose * d.price) AS spent
FROM patients p, visits v, prescriptions r, drugs d
WHERE d.drug_id = r.drug_id AND r.visit_id = v.visit_id AND v.patient_id = p.patient_id
GROUP BY d.family, p.sex
ORDER BY d.family, p.sex;

-- name: conditions_between
-- world: clinic
SELECT COUNT(*) AS n
FROM visits AS v, patients AS p
WHERE v.urgent AND v.patient_id = p.patient_id AND p.birth_year BETWEEN 1950 AND 1970 AND (v.ward = 'A' OR p.smoker);

-- name: equality_the_other_way_round
-- world: shop
SELECT c.Country, AVG(o.Quantity) AS q FROM Orders o, Customers c WHERE c.CustomerID = o.CustomerID GROUP BY c.Country;

-- name: comma_and_join
-- world: clinic
SELECT w.floor, COUNT(*) AS n
FROM wards w, visits v JOIN patients p ON p.patient_id = v.patient_id
WHERE w.ward = v.ward AND p.sex = 'F'
GROUP BY w.floor;

-- name: two_public_tables
-- world: clinic
SELECT d.family, w.floor, COUNT(*) AS n
FROM prescriptions r, visits v, drugs d, wards w
WHERE r.visit_id = v.visit_id AND r.drug_id = d.drug_id AND v.ward = w.ward AND w.floor > 0
GROUP BY d.family, w.floor;

-- name: cross_join_with_where
-- world: clinic
SELECT p.plan, COUNT(*) AS n FROM patients p CROSS JOIN visits v WHERE p.patient_id = v.patient_id GROUP BY p.plan;

-- name: comma_in_a_sub_query
-- world: clinic
SELECT sex, AVG(nights) AS nights FROM (SELECT p.sex, v.nights FROM patients p, visits v WHERE v.patient_id = p.patient_id) t GROUP BY sex;

-- name: column_of_a_linked_table_is_not_ambiguous
-- world: clinic
SELECT ward, COUNT(DISTINCT patient_id) AS people, COUNT(*) AS n FROM visits v JOIN prescriptions r ON r.visit_id = v.visit_id GROUP BY ward;

-- name: count_of_people_through_a_link
-- world: clinic
SELECT COUNT(DISTINCT patient_id) AS people FROM visits v, prescriptions r WHERE v.visit_id = r.visit_id AND r.drug_id = 3;

-- name: count_of_people_by_family
-- world: clinic
SELECT family, COUNT(DISTINCT patient_id) AS people
FROM prescriptions JOIN visits ON prescriptions.visit_id = visits.visit_id JOIN drugs ON drugs.drug_id = prescriptions.drug_id
GROUP BY family;

-- name: inequality_of_a_public_table
-- world: clinic
SELECT w.ward, COUNT(*) AS n FROM visits v, wards w WHERE v.ward = w.ward AND v.nights > w.floor * 2 GROUP BY w.ward;

-- name: no_equality_between_people
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM patients a, patients b WHERE a.birth_year < b.birth_year;

-- name: equality_under_or
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM patients p, visits v WHERE p.patient_id = v.patient_id OR p.sex = 'F';

-- name: one_public_table_twice
-- world: bikes
SELECT a.district AS origin, b.district AS destination, COUNT(*) AS n
FROM trips t, stations a, stations b
WHERE t.from_station = a.station_id AND t.to_station = b.station_id
GROUP BY a.district, b.district
ORDER BY origin, destination;

-- name: person_is_a_text
-- world: bikes
SELECT tariff, SUM(price) AS income FROM riders, trips WHERE riders.rider_id = trips.rider_id AND started >= '2023-07-01' GROUP BY tariff;

-- name: brackets_around_conditions
-- world: bikes
SELECT COUNT(*) AS n FROM riders r, trips t WHERE (r.rider_id = t.rider_id) AND ((r.member) AND (t.km > 2 AND t.km < 9));

-- name: two_sub_queries_with_a_comma
-- world: bikes
SELECT COUNT(*) AS n
FROM (SELECT rider_id FROM riders WHERE member) m, (SELECT rider_id, SUM(price) AS spent FROM trips GROUP BY rider_id) s
WHERE m.rider_id = s.rider_id AND s.spent > 30;

-- name: cte_with_a_comma
-- world: bikes
WITH long_trips AS (SELECT rider_id, km FROM trips WHERE km > 15)
SELECT r.tariff, COUNT(*) AS n, AVG(l.km) AS km FROM riders r, long_trips l WHERE l.rider_id = r.rider_id GROUP BY r.tariff;

-- name: self_join_within_a_person
-- world: bikes
SELECT COUNT(*) AS returns
FROM trips a, trips b
WHERE a.rider_id = b.rider_id AND a.to_station = b.from_station AND b.started > a.started;

-- name: public_tables_first
-- world: bikes
SELECT s.name, COUNT(*) AS n FROM stations s, riders r, trips t
WHERE s.station_id = t.from_station AND t.rider_id = r.rider_id AND r.tariff IN ('month', 'year')
GROUP BY s.name
ORDER BY s.name;

-- name: equality_through_another_table
-- world: clinic
SELECT p.sex, SUM(b.amount) AS billed
FROM patients p, visits v, bills b
WHERE p.patient_id = v.patient_id AND v.patient_id = b.patient_id AND v.visit_id = b.visit_id
GROUP BY p.sex;

-- name: equality_in_a_common_part_of_or
-- world: bikes
SELECT COUNT(*) AS n
FROM trips t, stations s
WHERE (t.from_station = s.station_id AND s.district = 'east' AND t.km < 5) OR (t.from_station = s.station_id AND s.district = 'west' AND t.km > 20);
