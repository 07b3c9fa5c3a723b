--
-- PostgreSQL database dump
--

\restrict oNM9uOY19lzH3jcGYatuybefdLaTKgHQhCP1Hi1BeNrRdishPjuaQ8NNSTEqvjt

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: auth; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA auth;


--
-- Name: public; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA public;


--
-- Name: SCHEMA public; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON SCHEMA public IS 'standard public schema';


--
-- Name: storage; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA storage;


--
-- Name: factor_status; Type: TYPE; Schema: auth; Owner: -
--

CREATE TYPE auth.factor_status AS ENUM (
    'unverified',
    'verified'
);


--
-- Name: factor_type; Type: TYPE; Schema: auth; Owner: -
--

CREATE TYPE auth.factor_type AS ENUM (
    'totp',
    'webauthn',
    'phone'
);


--
-- Name: mood; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.mood AS ENUM (
    'calm',
    'it''s loud'
);


--
-- Name: buckettype; Type: TYPE; Schema: storage; Owner: -
--

CREATE TYPE storage.buckettype AS ENUM (
    'STANDARD',
    'ANALYTICS',
    'VECTOR'
);


--
-- Name: role(); Type: FUNCTION; Schema: auth; Owner: -
--

CREATE FUNCTION auth.role() RETURNS text
    LANGUAGE sql STABLE
    AS $$ select nullif(current_setting('request.jwt.claim.role', true), '')::text; $$;


--
-- Name: uid(); Type: FUNCTION; Schema: auth; Owner: -
--

CREATE FUNCTION auth.uid() RETURNS uuid
    LANGUAGE sql STABLE
    AS $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.sub', true), ''),
    (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')
  )::uuid;
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: identities; Type: TABLE; Schema: auth; Owner: -
--

CREATE TABLE auth.identities (
    provider_id text NOT NULL,
    user_id uuid NOT NULL,
    identity_data jsonb NOT NULL,
    provider text NOT NULL,
    last_sign_in_at timestamp with time zone,
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    email text GENERATED ALWAYS AS (lower((identity_data ->> 'email'::text))) STORED,
    id uuid DEFAULT gen_random_uuid() NOT NULL
);


--
-- Name: mfa_factors; Type: TABLE; Schema: auth; Owner: -
--

CREATE TABLE auth.mfa_factors (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    friendly_name text,
    factor_type auth.factor_type NOT NULL,
    status auth.factor_status NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    secret text,
    phone text,
    last_challenged_at timestamp with time zone,
    web_authn_credential jsonb,
    web_authn_aaguid uuid
);


--
-- Name: users; Type: TABLE; Schema: auth; Owner: -
--

CREATE TABLE auth.users (
    instance_id uuid,
    id uuid NOT NULL,
    aud character varying(255),
    role character varying(255),
    email character varying(255),
    encrypted_password character varying(255),
    email_confirmed_at timestamp with time zone,
    invited_at timestamp with time zone,
    confirmation_token character varying(255),
    confirmation_sent_at timestamp with time zone,
    recovery_token character varying(255),
    recovery_sent_at timestamp with time zone,
    email_change_token_new character varying(255),
    email_change character varying(255),
    email_change_sent_at timestamp with time zone,
    last_sign_in_at timestamp with time zone,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    is_super_admin boolean,
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    phone text DEFAULT NULL::character varying,
    phone_confirmed_at timestamp with time zone,
    phone_change text DEFAULT ''::character varying,
    phone_change_token character varying(255) DEFAULT ''::character varying,
    phone_change_sent_at timestamp with time zone,
    confirmed_at timestamp with time zone GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
    email_change_token_current character varying(255) DEFAULT ''::character varying,
    email_change_confirm_status smallint DEFAULT 0,
    banned_until timestamp with time zone,
    reauthentication_token character varying(255) DEFAULT ''::character varying,
    reauthentication_sent_at timestamp with time zone,
    is_sso_user boolean DEFAULT false NOT NULL,
    deleted_at timestamp with time zone,
    is_anonymous boolean DEFAULT false NOT NULL,
    CONSTRAINT users_email_change_confirm_status_check CHECK (((email_change_confirm_status >= 0) AND (email_change_confirm_status <= 2)))
);


--
-- Name: keyless; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.keyless (
    value text
);


--
-- Name: lists; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.lists (
    id bigint NOT NULL,
    title text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: lists_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.lists ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.lists_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: members; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.members (
    list_id bigint NOT NULL,
    user_id uuid NOT NULL,
    since date
);


--
-- Name: open; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.open (
    id text NOT NULL,
    price numeric
);


--
-- Name: profiles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.profiles (
    id uuid NOT NULL,
    nick text,
    about character varying(500),
    updated_at timestamp with time zone
);


--
-- Name: todos; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.todos (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    user_id uuid NOT NULL,
    list_id bigint,
    parent uuid,
    task text NOT NULL,
    "Done?" boolean DEFAULT false NOT NULL,
    rank integer,
    weight numeric(30,20),
    ratio double precision,
    due date,
    at timestamp without time zone,
    extra jsonb,
    feeling public.mood,
    tags text[],
    marks integer[] DEFAULT '{}'::integer[],
    twice integer GENERATED ALWAYS AS ((rank * 2)) STORED,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone
);


--
-- Name: buckets; Type: TABLE; Schema: storage; Owner: -
--

CREATE TABLE storage.buckets (
    id text NOT NULL,
    name text NOT NULL,
    owner uuid,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    public boolean DEFAULT false,
    avif_autodetection boolean DEFAULT false,
    file_size_limit bigint,
    allowed_mime_types text[],
    owner_id text,
    type storage.buckettype DEFAULT 'STANDARD'::storage.buckettype NOT NULL
);


--
-- Name: objects; Type: TABLE; Schema: storage; Owner: -
--

CREATE TABLE storage.objects (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    bucket_id text,
    name text,
    owner uuid,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    last_accessed_at timestamp with time zone DEFAULT now(),
    metadata jsonb,
    path_tokens text[] GENERATED ALWAYS AS (string_to_array(name, '/'::text)) STORED,
    version text,
    owner_id text,
    user_metadata jsonb
);


--
-- Data for Name: identities; Type: TABLE DATA; Schema: auth; Owner: -
--

COPY auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at, id) FROM stdin;
a0000000-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	{"sub": "a0000000-0000-4000-8000-000000000001", "email": "ada@base.example"}	email	\N	2024-01-02 03:04:05+00	2024-01-02 03:04:05+00	a0000000-0000-4000-8000-00000000000a
1234567890	e0000000-0000-4000-8000-000000000003	{"sub": "1234567890", "email": "eve@gmail.example"}	google	\N	2024-03-02 00:00:00+00	2024-03-02 00:00:00+00	e0000000-0000-4000-8000-00000000000e
\.


--
-- Data for Name: mfa_factors; Type: TABLE DATA; Schema: auth; Owner: -
--

COPY auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at, secret, phone, last_challenged_at, web_authn_credential, web_authn_aaguid) FROM stdin;
f0000000-0000-4000-8000-000000000001	b0000000-0000-4000-8000-000000000002	phone app	totp	verified	2024-02-02 00:00:00+00	2024-02-02 00:00:00+00	JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP	\N	\N	\N	\N
f0000000-0000-4000-8000-000000000002	e0000000-0000-4000-8000-000000000003	phone app	totp	verified	2024-02-02 00:00:00+00	2024-02-02 00:00:00+00	{"key_id":"k","alg":"aes-gcm-hkdf","data":"AAAA","nonce":"AAAA"}	\N	\N	\N	\N
\.


--
-- Data for Name: users; Type: TABLE DATA; Schema: auth; Owner: -
--

COPY auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, invited_at, confirmation_token, confirmation_sent_at, recovery_token, recovery_sent_at, email_change_token_new, email_change, email_change_sent_at, last_sign_in_at, raw_app_meta_data, raw_user_meta_data, is_super_admin, created_at, updated_at, phone, phone_confirmed_at, phone_change, phone_change_token, phone_change_sent_at, email_change_token_current, email_change_confirm_status, banned_until, reauthentication_token, reauthentication_sent_at, is_sso_user, deleted_at, is_anonymous) FROM stdin;
00000000-0000-0000-0000-000000000000	a0000000-0000-4000-8000-000000000001	authenticated	authenticated	ada@base.example	$2a$06$oey.RYbjCmQY66yzUduxauDwgKQXSuGZQl8TR37j4eEhsnmYARVK6	2024-01-02 03:04:05.678901+00	\N	\N	\N	\N	\N	\N	\N	\N	\N	{"plan": "pro", "provider": "email", "providers": ["email"]}	{"theme": "dark", "full_name": "Ada \\\\ \\"Tab\\""}	\N	2024-01-02 03:04:05+00	2024-05-06 07:08:09+00	\N	\N			\N		0	\N		\N	f	\N	f
00000000-0000-0000-0000-000000000000	b0000000-0000-4000-8000-000000000002	authenticated	authenticated	bob@base.example	$2a$06$T1rniauPmEh.Bip2xJIEnuBoP91KCjF7keF221CW8KCKcGclAAeha	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	{"provider": "email", "providers": ["email"]}	{}	\N	2024-02-02 00:00:00+00	2024-02-02 00:00:00+00	4915112345678	2024-02-03 00:00:00+00			\N		0	\N		\N	f	\N	f
00000000-0000-0000-0000-000000000000	e0000000-0000-4000-8000-000000000003	authenticated	authenticated	eve@base.example	$2a$06$kKlaWigK2I/TeJT3108gROJU5Bd3ZOvdLAggjnCJ9Ew/oohVdHqZG	2024-03-02 00:00:00+00	\N	\N	\N	\N	\N	\N	\N	\N	\N	{"provider": "email", "providers": ["email", "google"]}	{"name": "Eve"}	\N	2024-03-02 00:00:00+00	2024-03-02 00:00:00+00	\N	\N			\N		0	2020-01-01 00:00:00+00		\N	f	\N	f
\.


--
-- Data for Name: keyless; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.keyless (value) FROM stdin;
\.


--
-- Data for Name: lists; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.lists (id, title, created_at) FROM stdin;
1	House 😀	2024-01-04 00:00:00+00
9007199254740993	Large	2024-01-05 00:00:00+00
\.


--
-- Data for Name: members; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.members (list_id, user_id, since) FROM stdin;
1	a0000000-0000-4000-8000-000000000001	2024-01-01
\.


--
-- Data for Name: open; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.open (id, price) FROM stdin;
first	12.50
not an id!	1
much	NaN
\.


--
-- Data for Name: profiles; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.profiles (id, nick, about, updated_at) FROM stdin;
a0000000-0000-4000-8000-000000000001	ada	line one\nline\ttwo \\ end	2024-01-03 00:00:00+00
b0000000-0000-4000-8000-000000000002	bob	\N	\N
\.


--
-- Data for Name: todos; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.todos (id, user_id, list_id, parent, task, "Done?", rank, weight, ratio, due, at, extra, feeling, tags, marks, created_at, updated_at) FROM stdin;
c0000000-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	1	\N	Paint	t	3	1.50000000000000000001	0.1	2024-06-01	2024-06-01 12:00:00	{"deep": [1, null]}	it's loud	{plain,"two, \\"three\\"",""}	{1,2}	2024-05-31 22:00:00+00	2024-06-02 00:00:00+00
c0000000-0000-4000-8000-000000000002	b0000000-0000-4000-8000-000000000002	9007199254740993	c0000000-0000-4000-8000-000000000001	Sweep	f	\N	\N	\N	\N	\N	\N	\N	\N	\N	2024-06-03 00:00:00+00	\N
\.


--
-- Data for Name: buckets; Type: TABLE DATA; Schema: storage; Owner: -
--

COPY storage.buckets (id, name, owner, created_at, updated_at, public, avif_autodetection, file_size_limit, allowed_mime_types, owner_id, type) FROM stdin;
avatars	avatars	\N	2024-01-01 00:00:00+00	2024-01-01 00:00:00+00	t	f	\N	\N	\N	STANDARD
papers	papers	\N	2024-01-01 00:00:00+00	2024-01-01 00:00:00+00	f	f	1048576	\N	\N	STANDARD
\.


--
-- Data for Name: objects; Type: TABLE DATA; Schema: storage; Owner: -
--

COPY storage.objects (id, bucket_id, name, owner, created_at, updated_at, last_accessed_at, metadata, version, owner_id, user_metadata) FROM stdin;
d0000000-0000-4000-8000-000000000001	avatars	a0000000/face.txt	\N	2024-01-01 00:00:00+00	2024-01-01 00:00:00+00	2024-01-01 00:00:00+00	{"eTag": "\\"d5ca322453f2986b752e58b11af83d96\\"", "size": 4, "mimetype": "text/plain"}	e1000000-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	\N
d0000000-0000-4000-8000-000000000002	papers	lost.txt	\N	2024-01-01 00:00:00+00	2024-01-01 00:00:00+00	2024-01-01 00:00:00+00	{}	\N	\N	\N
\.


--
-- Name: lists_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.lists_id_seq', 1, false);


--
-- Name: identities identities_pkey; Type: CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (id);


--
-- Name: identities identities_provider_id_provider_unique; Type: CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.identities
    ADD CONSTRAINT identities_provider_id_provider_unique UNIQUE (provider_id, provider);


--
-- Name: mfa_factors mfa_factors_last_challenged_at_key; Type: CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.mfa_factors
    ADD CONSTRAINT mfa_factors_last_challenged_at_key UNIQUE (last_challenged_at);


--
-- Name: mfa_factors mfa_factors_pkey; Type: CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.mfa_factors
    ADD CONSTRAINT mfa_factors_pkey PRIMARY KEY (id);


--
-- Name: users users_phone_key; Type: CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_phone_key UNIQUE (phone);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);


--
-- Name: lists lists_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lists
    ADD CONSTRAINT lists_pkey PRIMARY KEY (id);


--
-- Name: members members_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (list_id, user_id);


--
-- Name: open open_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.open
    ADD CONSTRAINT open_pkey PRIMARY KEY (id);


--
-- Name: profiles profiles_nick_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_nick_key UNIQUE (nick);


--
-- Name: profiles profiles_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_pkey PRIMARY KEY (id);


--
-- Name: todos todos_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_pkey PRIMARY KEY (id);


--
-- Name: buckets buckets_pkey; Type: CONSTRAINT; Schema: storage; Owner: -
--

ALTER TABLE ONLY storage.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (id);


--
-- Name: objects objects_pkey; Type: CONSTRAINT; Schema: storage; Owner: -
--

ALTER TABLE ONLY storage.objects
    ADD CONSTRAINT objects_pkey PRIMARY KEY (id);


--
-- Name: users_email_partial_key; Type: INDEX; Schema: auth; Owner: -
--

CREATE UNIQUE INDEX users_email_partial_key ON auth.users USING btree (email) WHERE (is_sso_user = false);


--
-- Name: todos_lower; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX todos_lower ON public.todos USING btree (lower(task));


--
-- Name: todos_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX todos_open ON public.todos USING btree (user_id) WHERE (NOT "Done?");


--
-- Name: todos_tags; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX todos_tags ON public.todos USING gin (tags);


--
-- Name: todos_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX todos_user ON public.todos USING btree (user_id, rank DESC);


--
-- Name: identities identities_user_id_fkey; Type: FK CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: mfa_factors mfa_factors_user_id_fkey; Type: FK CONSTRAINT; Schema: auth; Owner: -
--

ALTER TABLE ONLY auth.mfa_factors
    ADD CONSTRAINT mfa_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: members members_list_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_list_id_fkey FOREIGN KEY (list_id) REFERENCES public.lists(id);


--
-- Name: members members_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id);


--
-- Name: profiles profiles_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_id_fkey FOREIGN KEY (id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: todos todos_list_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_list_id_fkey FOREIGN KEY (list_id) REFERENCES public.lists(id) ON DELETE CASCADE;


--
-- Name: todos todos_parent_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_parent_fkey FOREIGN KEY (parent) REFERENCES public.todos(id) ON DELETE SET NULL;


--
-- Name: todos todos_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.todos
    ADD CONSTRAINT todos_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: objects objects_bucket_id_fkey; Type: FK CONSTRAINT; Schema: storage; Owner: -
--

ALTER TABLE ONLY storage.objects
    ADD CONSTRAINT objects_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES storage.buckets(id);


--
-- Name: members Admins; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY "Admins" ON public.members USING ((auth.role() = 'admin'::text));


--
-- Name: todos Calm todos; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY "Calm todos" ON public.todos FOR SELECT TO authenticated USING (((auth.uid() = user_id) OR (feeling = 'calm'::public.mood)));


--
-- Name: profiles Everyone reads profiles; it's fine; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY "Everyone reads profiles; it's fine" ON public.profiles FOR SELECT USING (true);


--
-- Name: profiles Own profile; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY "Own profile" ON public.profiles FOR UPDATE TO authenticated USING ((( SELECT auth.uid() AS uid) = id));


--
-- Name: todos Own todos; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY "Own todos" ON public.todos TO authenticated USING ((auth.uid() = user_id)) WITH CHECK ((auth.uid() = user_id));


--
-- Name: lists Signed in; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY "Signed in" ON public.lists FOR SELECT TO authenticated USING (true);


--
-- Name: lists Signed in creates; Type: POLICY; Schema: public; Owner: -
--

CREATE POLICY "Signed in creates" ON public.lists FOR INSERT TO authenticated WITH CHECK ((auth.role() = 'authenticated'::text));


--
-- Name: lists; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.lists ENABLE ROW LEVEL SECURITY;

--
-- Name: members; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;

--
-- Name: profiles; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.profiles ENABLE ROW LEVEL SECURITY;

--
-- Name: todos; Type: ROW SECURITY; Schema: public; Owner: -
--

ALTER TABLE public.todos ENABLE ROW LEVEL SECURITY;

--
-- Name: objects Avatars can't be secret; Type: POLICY; Schema: storage; Owner: -
--

CREATE POLICY "Avatars can't be secret" ON storage.objects FOR SELECT USING ((bucket_id = 'avatars'::text));


--
-- Name: objects; Type: ROW SECURITY; Schema: storage; Owner: -
--

ALTER TABLE storage.objects ENABLE ROW LEVEL SECURITY;

--
-- Name: SCHEMA auth; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA auth TO anon;
GRANT USAGE ON SCHEMA auth TO authenticated;
GRANT USAGE ON SCHEMA auth TO service_role;


--
-- Name: SCHEMA public; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA public TO anon;
GRANT USAGE ON SCHEMA public TO authenticated;
GRANT USAGE ON SCHEMA public TO service_role;


--
-- Name: SCHEMA storage; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA storage TO anon;
GRANT USAGE ON SCHEMA storage TO authenticated;
GRANT USAGE ON SCHEMA storage TO service_role;


--
-- Name: TABLE keyless; Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON TABLE public.keyless TO anon;
GRANT ALL ON TABLE public.keyless TO authenticated;
GRANT ALL ON TABLE public.keyless TO service_role;


--
-- Name: TABLE lists; Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON TABLE public.lists TO anon;
GRANT ALL ON TABLE public.lists TO authenticated;
GRANT ALL ON TABLE public.lists TO service_role;


--
-- Name: TABLE members; Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON TABLE public.members TO anon;
GRANT ALL ON TABLE public.members TO authenticated;
GRANT ALL ON TABLE public.members TO service_role;


--
-- Name: TABLE open; Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON TABLE public.open TO anon;
GRANT ALL ON TABLE public.open TO authenticated;
GRANT ALL ON TABLE public.open TO service_role;


--
-- Name: TABLE profiles; Type: ACL; Schema: public; Owner: -
--

GRANT INSERT,REFERENCES,DELETE,TRIGGER,TRUNCATE,UPDATE ON TABLE public.profiles TO anon;
GRANT ALL ON TABLE public.profiles TO authenticated;
GRANT ALL ON TABLE public.profiles TO service_role;


--
-- Name: TABLE todos; Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON TABLE public.todos TO anon;
GRANT ALL ON TABLE public.todos TO authenticated;
GRANT ALL ON TABLE public.todos TO service_role;


--
-- Name: TABLE buckets; Type: ACL; Schema: storage; Owner: -
--

GRANT ALL ON TABLE storage.buckets TO anon;
GRANT ALL ON TABLE storage.buckets TO authenticated;
GRANT ALL ON TABLE storage.buckets TO service_role;


--
-- Name: TABLE objects; Type: ACL; Schema: storage; Owner: -
--

GRANT ALL ON TABLE storage.objects TO anon;
GRANT ALL ON TABLE storage.objects TO authenticated;
GRANT ALL ON TABLE storage.objects TO service_role;


--
-- PostgreSQL database dump complete
--

\unrestrict oNM9uOY19lzH3jcGYatuybefdLaTKgHQhCP1Hi1BeNrRdishPjuaQ8NNSTEqvjt

