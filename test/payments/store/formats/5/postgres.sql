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
CREATE SCHEMA bankql;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE bankql.payment (
    id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    caller text NOT NULL,
    payer text NOT NULL,
    state text NOT NULL,
    track_id text NOT NULL,
    request_id text,
    account_id text NOT NULL,
    to_account_id text,
    json text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    lease_until bigint NOT NULL
);
CREATE TABLE bankql.store (
    only_row boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    id text NOT NULL,
    secret text NOT NULL,
    system_identifier text,
    timeline integer,
    standbys_confirm boolean NOT NULL,
    loss text,
    loss_accepted_by text,
    loss_accepted_at timestamp with time zone,
    CONSTRAINT store_only_row_check CHECK (only_row)
);
INSERT INTO bankql.payment VALUES ('3ae1c65634d29f3c92fbdc17c561431246e5a94678096bf2c63c157413dfbbaa', '57f3205d-ca58-4bc2-9ec9-3a5d88c8f144', 'cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697', '1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082', 'DONE', '2c2a6ea9-1d8f-4271-99b6-4b02d2b966e3', NULL, 'done', 'to', '{"id":"3ae1c65634d29f3c92fbdc17c561431246e5a94678096bf2c63c157413dfbbaa","caller":"cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697","payer":"1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082","fingerprint":"4ed1fe6a7e616b0323142c55e50e4ff47537f95cfc6e9b762c26de1714485e94.820e4030a0c4cbe2dfb84123984034f9c0d900da626b9cd84a6945a9d06186ed","state":"DONE","operation":"postMakeTransaction","bankId":"BANK","accountId":"done","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"done","trackId":"2c2a6ea9-1d8f-4271-99b6-4b02d2b966e3","createdAt":1795892524541,"updatedAt":1795892524541,"leaseUntil":1795892594541,"answer":"{\"id\":\"tx-2c2a6ea9-1d8f-4271-99b6-4b02d2b966e3\",\"status\":\"COMPLETED\"}","code":null,"status":201,"message":null,"bankText":null,"settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795892524541},{"state":"DONE","at":1795892524541,"status":201}],"awaited":false}', 1795892524541, 1795892524552, 1795892594541);
INSERT INTO bankql.payment VALUES ('2f2ff930eddfe043f9318f4f5bce59b4ad1e9de59e9d1fcc616c8a3e9dc6221d', '67724fa1-f7d9-47ca-89af-c0fdf2e89f48', 'cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697', '1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082', 'DONE', 'dc7f2dd5-d060-485b-b5c1-d79056dc3428', NULL, 'requested', 'to', '{"id":"2f2ff930eddfe043f9318f4f5bce59b4ad1e9de59e9d1fcc616c8a3e9dc6221d","caller":"cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697","payer":"1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082","fingerprint":"b06c754a7a7e5b6873664dc409e9304183bcf292bf9903908b6e8aa20a5be057.70cdbfef1340e3758ac375ba400e4edaf4c0f977b71d0244a9d7a5ae548f2154","state":"DONE","operation":"putTransactionsRequestAccount","bankId":"BANK","accountId":"requested","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"requested","trackId":"dc7f2dd5-d060-485b-b5c1-d79056dc3428","createdAt":1795892524613,"updatedAt":1795892524613,"leaseUntil":1795892594613,"answer":"{\"transaction-requests\":[{\"body\":{\"to\":{\"account_id\":\"to\",\"bank_id\":\"TO-BANK\"},\"value\":{\"currency\":\"EUR\",\"amount\":\"12.5\"}},\"status\":\"INITIATED\"}]}","code":null,"status":200,"message":null,"bankText":null,"settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795892524613},{"state":"DONE","at":1795892524613,"status":200}],"awaited":false}', 1795892524613, 1795892524629, 1795892594613);
INSERT INTO bankql.payment VALUES ('90efe04de7133379d88b7583afe156ebfa50bfe890e769a965526e09fa444975', '1f435b99-d54f-41c1-9544-e38f73975824', 'cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697', '1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082', 'REJECTED', 'dbd02f64-1a7b-4062-aea4-5099b33ae5e0', NULL, 'rejected', 'to', '{"id":"90efe04de7133379d88b7583afe156ebfa50bfe890e769a965526e09fa444975","caller":"cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697","payer":"1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082","fingerprint":"137657d886240746b5084fae0077d0bbf9eefb8a5c914ae795338c088e43b910.159447390a8a1e34a81a18c108c18bb2b2aa10293f71e0d4f91c5b9f5e2b1184","state":"REJECTED","operation":"postMakeTransaction","bankId":"BANK","accountId":"rejected","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"rejected","trackId":"dbd02f64-1a7b-4062-aea4-5099b33ae5e0","createdAt":1795892524641,"updatedAt":1795892524641,"leaseUntil":1795892594641,"answer":null,"code":"BANK_REJECTED","status":422,"message":"The bank rejects postMakeTransaction with status 422: Insufficient funds","bankText":"Insufficient funds","settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795892524641},{"state":"REJECTED","at":1795892524641,"status":422,"code":"BANK_REJECTED","bankText":"Insufficient funds"}],"awaited":false}', 1795892524641, 1795892524645, 1795892594641);
INSERT INTO bankql.payment VALUES ('14acc3526ffcaa6ba14f352cf1a14d764d6bd184f2988c8c231e87868eb05a94', '50a8b396-abfc-4728-94de-5957b48301f9', 'cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697', '1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082', 'UNKNOWN', '821e839b-d9f8-46fd-9c2a-9e3ca3b0fe25', NULL, 'unknown', 'to', '{"id":"14acc3526ffcaa6ba14f352cf1a14d764d6bd184f2988c8c231e87868eb05a94","caller":"cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697","payer":"1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082","fingerprint":"77bf347a4838e6b9178c8ae961b03b69bf2d62baaf0634106bd14d9029a891bd.e0c45f32f4d7ae041b2c1078fdbab0c88ca1c0623ca3ba8ecc25dee4836db630","state":"UNKNOWN","operation":"postMakeTransaction","bankId":"BANK","accountId":"unknown","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"idempotencyKey":"unknown","trackId":"821e839b-d9f8-46fd-9c2a-9e3ca3b0fe25","createdAt":1795892524653,"updatedAt":1795892524653,"leaseUntil":1795892594653,"answer":null,"code":"OUTCOME_UNKNOWN","status":500,"message":"The payment was sent, and the bank''s answer (status 500) proves neither that it was executed nor that it was not. It is not sent again under this idempotency key: ask the bank, or its operator, with the Track-ID.","bankText":"down","settledBy":null,"requestId":null,"replica":null,"history":[{"state":"PENDING","at":1795892524653},{"state":"UNKNOWN","at":1795892524653,"status":500,"code":"OUTCOME_UNKNOWN","bankText":"down"}],"awaited":false}', 1795892524653, 1795892524656, 1795892594653);
INSERT INTO bankql.payment VALUES ('1f2c3f1e1cf82baaf2beeb36540e108c8eaf0fd3ce029ee383c6c115b8e85801', '3d14e470-cd7f-48ec-a632-204e9c1992a6', 'cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697', '1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082', 'PENDING', '0c585536-4ed5-46ba-addf-ecf94797f256', NULL, 'pending', 'to', '{"bankId":"BANK","accountId":"pending","toBankId":"TO-BANK","toAccountId":"to","currency":"EUR","amount":"12.50","description":null,"id":"1f2c3f1e1cf82baaf2beeb36540e108c8eaf0fd3ce029ee383c6c115b8e85801","caller":"cd8b04ca150b59afe25243213142c6b92b9a1bd5b7a869f718ee52b7bf771697","payer":"1b87ef7504e3d75c80bff340600efb3207a7f497e29a50d64cd96cc070da0082","fingerprint":"6823eec3095f3a821ef93b4bf660881a155ac2da63d31ef673ddbf229afce666.49938f8e72a0d9317c4e17216b74fd6b73060836eb38f63fdcb0008127675b26","state":"PENDING","operation":"postMakeTransaction","trackId":"0c585536-4ed5-46ba-addf-ecf94797f256","requestId":null,"replica":null,"leaseUntil":1795892594663,"createdAt":1795892524663,"updatedAt":1795892524663,"answer":null,"code":null,"status":null,"message":null,"settledBy":null,"bankText":null,"idempotencyKey":"pending","history":[{"state":"PENDING","at":1795892524663}],"awaited":true}', 1795892524664, 1795892524664, 1795892524664);
INSERT INTO bankql.store VALUES (true, 5, '5f8decc7-9a6b-488e-a468-f7160fa0dcb1', 'e3a127e10f8e447ca4c513a90f0e56cbca9d8537477a7314d8d2598331fcff44', '7713299655688499812', 1, false, NULL, NULL, NULL);
ALTER TABLE ONLY bankql.payment
    ADD CONSTRAINT payment_pkey PRIMARY KEY (id);
ALTER TABLE ONLY bankql.store
    ADD CONSTRAINT store_pkey PRIMARY KEY (only_row);
CREATE INDEX payment_by_caller ON bankql.payment USING btree (caller, created_at, id);
CREATE INDEX payment_by_end ON bankql.payment USING btree (updated_at) WHERE (state = ANY (ARRAY['DONE'::text, 'REJECTED'::text]));
CREATE INDEX payment_by_request_id ON bankql.payment USING btree (request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX payment_by_time ON bankql.payment USING btree (created_at, id);
CREATE INDEX payment_by_track_id ON bankql.payment USING btree (track_id);
CREATE INDEX payment_unfinished ON bankql.payment USING btree (created_at, id, state, lease_until) WHERE (state = ANY (ARRAY['PENDING'::text, 'UNKNOWN'::text]));
CREATE INDEX payment_unfinished_by_caller ON bankql.payment USING btree (caller, created_at, id, state) WHERE (state = ANY (ARRAY['PENDING'::text, 'UNKNOWN'::text]));
