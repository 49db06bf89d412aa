CREATE OR REPLACE FUNCTION public.separated_words(names text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ SELECT translate(names, '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)) $function$;
