-- Item 1: names with a schema, quoted names, names with a database, names in back quotes.

-- name: schema_public_quoted
-- world: clinic
SELECT "ward", COUNT(*) AS n FROM "public"."visits" GROUP BY "ward";

-- name: plain_count
-- world: clinic
SELECT COUNT(*) FROM visits;

-- name: schema_public_unquoted
-- world: clinic
SELECT sex, COUNT(*) AS people FROM public.patients GROUP BY sex ORDER BY sex;

-- name: schema_in_capitals
-- world: clinic
SELECT COUNT(*) AS n, AVG(nights) AS nights FROM PUBLIC.VISITS WHERE urgent;

-- name: declared_schema
-- world: shop
SELECT Country, COUNT(*) AS customers FROM Sales.Customers GROUP BY Country;

-- name: declared_schema_quoted
-- world: shop
SELECT o."Channel", SUM(o."Quantity") AS units FROM "Sales"."Orders" AS o GROUP BY o."Channel";

-- name: back_quotes
-- world: clinic
-- plain: SELECT "ward", AVG("cost") AS "mean cost" FROM visits GROUP BY "ward"
SELECT `ward`, AVG(`cost`) AS `mean cost` FROM `visits` GROUP BY `ward`;

-- name: back_quotes_with_schema
-- world: clinic
-- plain: SELECT v.ward, COUNT(*) AS n FROM visits v WHERE v.nights > 3 GROUP BY v.ward
SELECT v.`ward`, COUNT(*) AS n FROM `public`.`visits` v WHERE v.`nights` > 3 GROUP BY v.`ward`;

-- name: back_quotes_around_the_whole_name
-- world: shop
-- plain: SELECT Channel, COUNT(*) AS n FROM Orders GROUP BY Channel
SELECT Channel, COUNT(*) AS n FROM `Sales.Orders` GROUP BY Channel;

-- name: columns_with_table_name
-- world: clinic
SELECT visits.ward, COUNT(visits.cost) AS priced FROM public.visits GROUP BY visits.ward;

-- name: columns_with_schema_and_table
-- world: clinic
SELECT public.patients.city, COUNT(*) AS n FROM public.patients WHERE public.patients.smoker GROUP BY public.patients.city;

-- name: join_with_schemas
-- world: clinic
SELECT p.sex, COUNT(DISTINCT v.patient_id) AS people, SUM(v.nights) AS nights
FROM public.visits v
JOIN public.patients p ON p.patient_id = v.patient_id
GROUP BY p.sex;

-- name: join_with_a_public_table_in_the_schema
-- world: shop
SELECT p.Category, COUNT(*) AS n
FROM Sales.Orders o INNER JOIN Sales.Products p ON o.ProductID = p.ProductID
GROUP BY p.Category
ORDER BY n DESC;

-- name: schema_inside_a_cte
-- world: clinic
WITH adults AS (SELECT patient_id, sex, weight FROM "public"."patients" WHERE birth_year <= 2000)
SELECT sex, AVG(weight) AS weight FROM adults GROUP BY sex;

-- name: schema_inside_in
-- world: clinic
SELECT COUNT(*) AS n FROM public.patients WHERE patient_id IN (SELECT patient_id FROM public.visits WHERE ward = 'D');

-- name: cte_with_the_name_of_a_table
-- world: clinic
WITH visits AS (SELECT * FROM public.visits WHERE urgent) SELECT COUNT(*) AS urgent_visits FROM visits;

-- name: brackets
-- world: shop
-- plain: SELECT "Channel", AVG("Unit Price") AS price FROM "Orders" GROUP BY "Channel"
SELECT [Channel], AVG([Unit Price]) AS price FROM [Sales].[Orders] GROUP BY [Channel];

-- name: quoted_alias_with_blanks
-- world: shop
SELECT "Country" AS "Where they live", COUNT(*) AS "How many" FROM "Customers" GROUP BY "Country";

-- name: another_schema
-- world: clinic
-- refused: schema
SELECT COUNT(*) FROM archive.visits;

-- name: the_catalogue_of_a_database
-- world: clinic
-- refused: request
SELECT COUNT(*) FROM information_schema.tables;

-- name: catalogue_schema_and_table
-- world: bikes
-- plain: SELECT tariff, COUNT(*) AS n FROM riders GROUP BY tariff
SELECT tariff, COUNT(*) AS n FROM city.bikes.riders GROUP BY tariff;

-- name: catalogue_schema_and_table_quoted
-- world: bikes
-- plain: SELECT COUNT(*) AS n, SUM(t.price) AS price FROM trips AS t WHERE t.km > 5
SELECT COUNT(*) AS n, SUM("t"."price") AS "price" FROM "city"."bikes"."trips" AS "t" WHERE "t"."km" > 5;

-- name: catalogue_and_schema_in_a_join
-- world: bikes
-- plain: SELECT s.district, COUNT(*) AS n FROM trips t JOIN stations s ON t.from_station = s.station_id GROUP BY s.district
SELECT s.district, COUNT(*) AS n
FROM city.bikes.trips t JOIN city.bikes.stations s ON t.from_station = s.station_id
GROUP BY s.district;

-- name: schema_of_a_catalogue_alone
-- world: bikes
SELECT member, COUNT(*) AS n FROM bikes.riders GROUP BY member;

-- name: back_quotes_around_catalogue_schema_and_table
-- world: bikes
-- plain: SELECT r.tariff, COUNT(t.trip_id) AS trips FROM riders r JOIN trips t ON t.rider_id = r.rider_id GROUP BY r.tariff
SELECT r.tariff, COUNT(t.trip_id) AS trips
FROM `city.bikes.riders` AS r JOIN `city`.`bikes`.`trips` AS t ON t.rider_id = r.rider_id
GROUP BY r.tariff;

-- name: columns_after_catalogue_schema_and_table
-- world: bikes
-- plain: SELECT riders.tariff, COUNT(*) AS n FROM riders WHERE riders.member GROUP BY riders.tariff
SELECT city.bikes.riders.tariff, COUNT(*) AS n FROM city.bikes.riders WHERE city.bikes.riders.member GROUP BY city.bikes.riders.tariff;

-- name: schema_in_one_place_and_not_in_another
-- world: bikes
SELECT r.member, AVG(t.km) AS km FROM bikes.trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.member;

-- name: another_catalogue
-- world: bikes
-- refused: request
SELECT COUNT(*) FROM town.bikes.riders;
