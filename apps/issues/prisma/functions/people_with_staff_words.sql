CREATE OR REPLACE FUNCTION public.people_with_staff_words(query tsquery, bound integer)
 RETURNS SETOF identity_mirror
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_indexscan TO 'off'
 SET enable_indexonlyscan TO 'off'
AS $function$SELECT * FROM identity_mirror m WHERE m.staff_words @@ $1 LIMIT $2$function$;
