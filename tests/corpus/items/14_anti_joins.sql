-- Item 14: an anti-join has the noise of one row a person. `like` names a question whose noise it must not exceed.

-- name: never_came
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id WHERE v.visit_id IS NULL;

-- name: never_came_by_sex
-- world: clinic
-- like: SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex
SELECT p.sex, COUNT(*) AS n FROM patients p LEFT OUTER JOIN visits v ON p.patient_id = v.patient_id WHERE v.patient_id IS NULL GROUP BY p.sex;

-- name: never_in_a_ward
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.ward = 'A' WHERE v.ward IS NULL;

-- name: never_with_using
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM patients LEFT JOIN visits USING (patient_id) WHERE visit_id IS NULL;

-- name: never_as_a_count_of_people
-- world: clinic
-- like: SELECT COUNT(DISTINCT patient_id) AS n FROM patients
SELECT COUNT(DISTINCT p.patient_id) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id WHERE v.patient_id IS NULL;

-- name: never_by_a_sub_query
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM patients p LEFT JOIN (SELECT DISTINCT patient_id FROM visits WHERE urgent) u ON u.patient_id = p.patient_id WHERE u.patient_id IS NULL;

-- name: never_by_not_exists
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);

-- name: never_by_not_in
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits);

-- name: never_by_a_right_join
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM visits v RIGHT JOIN patients p ON v.patient_id = p.patient_id WHERE v.visit_id IS NULL;

-- name: never_in_two_tables
-- world: clinic
-- like: SELECT COUNT(*) AS n FROM patients
SELECT COUNT(*) AS n FROM patients p
LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.urgent
LEFT JOIN readings r ON r.patient_id = p.patient_id AND r.test = 'iron'
WHERE v.visit_id IS NULL AND r.patient_id IS NULL;

-- name: mean_of_those_who_never_came
-- world: clinic
SELECT AVG(p.birth_year) AS born FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.ward = 'C' WHERE v.visit_id IS NULL;

-- name: visits_without_drugs
-- world: clinic
-- like: SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
SELECT v.ward, COUNT(*) AS n FROM visits v LEFT JOIN prescriptions r ON r.visit_id = v.visit_id WHERE r.visit_id IS NULL GROUP BY v.ward;

-- name: visits_without_a_long_prescription
-- world: clinic
-- like: SELECT SUM(nights) AS nights FROM visits
SELECT SUM(v.nights) AS nights FROM visits v LEFT JOIN prescriptions r ON v.visit_id = r.visit_id AND r.days > 30 WHERE r.drug_id IS NULL;

-- name: customers_without_orders
-- world: shop
-- like: SELECT Country, COUNT(*) AS n FROM Customers GROUP BY Country
SELECT c.Country, COUNT(*) AS n FROM Customers c LEFT JOIN Orders o ON o.CustomerID = c.CustomerID WHERE o.OrderID IS NULL GROUP BY c.Country;

-- name: customers_without_orders_on_the_web
-- world: shop
-- like: SELECT COUNT(*) AS n FROM Customers
select count(*) as n from customers c left join orders o on o.customerid = c.customerid and o.channel = 'web' where o.orderid is null;

-- name: riders_without_trips
-- world: bikes
-- like: SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff
SELECT r.tariff, COUNT(*) AS n FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id WHERE t.rider_id IS NULL GROUP BY r.tariff;

-- name: riders_without_a_trip_in_summer
-- world: bikes
-- like: SELECT COUNT(*) AS n FROM riders
SELECT COUNT(*) AS n
FROM riders r LEFT JOIN trips t ON t.rider_id = r.rider_id AND t.started >= '2023-06-01' AND t.started < '2023-09-01'
WHERE t.trip_id IS NULL AND r.member;

-- name: riders_without_a_trip_by_an_anti_join
-- world: bikes
-- like: SELECT COUNT(*) AS n FROM riders
SELECT COUNT(*) AS n FROM riders ANTI JOIN trips USING (rider_id);

-- name: riders_without_trips_and_a_public_table
-- world: bikes
-- like: SELECT COUNT(*) AS n FROM riders
SELECT COUNT(*) AS n
FROM riders r
LEFT JOIN (SELECT t.rider_id FROM trips t JOIN stations s ON s.station_id = t.from_station WHERE s.district = 'east') e ON e.rider_id = r.rider_id
WHERE e.rider_id IS NULL;

-- name: riders_with_a_trip
-- world: bikes
-- like: SELECT COUNT(*) AS n FROM riders
SELECT COUNT(*) AS n FROM riders r WHERE EXISTS (SELECT 1 FROM trips t WHERE t.rider_id = r.rider_id AND t.km > 12);

-- name: riders_in_a_list_of_people
-- world: bikes
-- like: SELECT member, COUNT(*) AS n FROM riders GROUP BY member
SELECT member, COUNT(*) AS n FROM riders WHERE rider_id IN (SELECT rider_id FROM trips WHERE from_station = 3) GROUP BY member;
