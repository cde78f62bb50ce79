-- Questions as PipelineDP's examples compute them, written in SQL: visits to a restaurant, ratings of films.

-- name: visits_per_day
-- world: restaurants
SELECT day, COUNT(*) AS visits FROM visits GROUP BY day ORDER BY day;

-- name: visitors_per_day
-- world: restaurants
SELECT day, COUNT(DISTINCT visitor_id) AS privacy_id_count FROM visits GROUP BY day ORDER BY day;

-- name: spent_per_day
-- world: restaurants
SELECT day, SUM(money_spent) AS sum, AVG(money_spent) AS mean, VAR_POP(money_spent) AS variance FROM visits GROUP BY day ORDER BY day;

-- name: visits_per_hour
-- world: restaurants
SELECT hour, COUNT(*) AS n FROM visits GROUP BY hour ORDER BY hour;

-- name: weekend_only
-- world: restaurants
SELECT SUM(money_spent) AS weekend FROM visits WHERE day IN (6, 7);

-- name: spent_clipped
-- world: restaurants
SELECT day, SUM(LEAST(money_spent, 50)) AS clipped FROM visits GROUP BY day ORDER BY day;

-- name: percentiles_of_minutes
-- world: restaurants
-- close: 0.06
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY minutes) AS p50, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY minutes) AS p90 FROM visits;

-- name: minutes_known
-- world: restaurants
SELECT day, COUNT(minutes) AS known, AVG(minutes) AS minutes FROM visits GROUP BY 1 ORDER BY 1;

-- name: busiest_days
-- world: restaurants
SELECT day, SUM(money_spent) AS s FROM visits GROUP BY day ORDER BY s DESC FETCH FIRST 3 ROWS ONLY;

-- name: views_per_movie
-- world: restaurants
SELECT movie_id, COUNT(*) AS views, AVG(rating) AS rating FROM movie_views GROUP BY movie_id ORDER BY movie_id;

-- name: ratings_by_title
-- world: restaurants
SELECT m.title, SUM(v.rating) AS rating_sum FROM movie_views v JOIN movies m ON v.movie_id = m.id GROUP BY m.id, m.title ORDER BY m.id;

-- name: public_partitions_only
-- world: restaurants
SELECT movie_id, COUNT(*) AS n FROM movie_views WHERE movie_id IN (SELECT id FROM movies WHERE year >= 1995) GROUP BY movie_id ORDER BY movie_id;

-- name: ratings_per_year_of_film
-- world: restaurants
SELECT year, COUNT(DISTINCT user_id) AS viewers FROM movie_views, movies WHERE movie_views.movie_id = movies.id GROUP BY year ORDER BY year;

-- name: share_of_each_day
-- world: restaurants
SELECT day, 100.0 * n / SUM(n) OVER () AS percent FROM (SELECT day, COUNT(*) AS n FROM visits GROUP BY day) AS per_day ORDER BY day;

-- name: visits_per_visitor
-- world: restaurants
SELECT n AS visits, COUNT(*) AS visitors FROM (SELECT visitor_id, COUNT(*) AS n FROM visits GROUP BY visitor_id) AS v GROUP BY n HAVING COUNT(*) > 5 ORDER BY n;

-- name: list_of_ratings
-- world: restaurants
-- refused: single rows
SELECT movie_id, rating FROM movie_views WHERE user_id = 3;

-- name: vector_of_ratings
-- world: restaurants
-- refused: ARRAY_AGG
SELECT movie_id, ARRAY_AGG(rating) AS ratings FROM movie_views GROUP BY movie_id;

-- name: parameters_of_the_question
-- world: restaurants
-- params: {"1": 20, "2": 3}
SELECT COUNT(*) AS n FROM visits WHERE money_spent > $1 AND day <> $2;
