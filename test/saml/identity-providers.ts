// Two real identity providers that share no code with the service but the library of signatures, in other versions: samlp of Auth0, and the one
// within saml20 of BoxyHQ. Their users log in without being asked.
import { createPublicKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { selfSigned } from '../harness/certificate.js';
import { after } from '../harness/runner.js';

const require = createRequire(import.meta.url);

/** Somebody who has an account with the provider. */
export interface Somebody {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

/** The provider, and who sits at the browser. */
export interface SamlProvider {
  readonly entityId: string;
  readonly metadataUrl: string;
  readonly metadata: string;
  readonly cert: string;
  /** The address of ours that is registered there. */
  readonly acsUrl: string;
  user: Somebody;
  /** Our certificate by which samlp verifies requests; it takes unsigned ones where absent. */
  requestCert?: string;
  /** Our certificate for which samlp encrypts assertions, and the method; not encrypted where absent. */
  encryption?: { readonly certificate: string; readonly algorithm: string };
}

let people = 0;
/** Somebody whom nobody knows yet. */
export function aSomebody(given: Partial<Somebody> = {}): Somebody {
  people += 1;
  return {
    id: `id-${people}-${randomBytes(3).toString('hex')}`,
    email: `person${people}@corp.example`,
    name: `Person ${people}`,
    ...given,
  };
}

interface Asked {
  readonly SAMLRequest: string;
  readonly RelayState: string;
}
interface Key {
  readonly cert: string;
  readonly key: string;
}
type Answerer = (idp: SamlProvider, key: Key, asked: Asked, request: IncomingMessage, response: ServerResponse) => void;

/** What samlp takes for a request and a response of Express. */
interface Samlp {
  auth(options: object): (request: object, response: object, next: (error: unknown) => void) => void;
}
interface Saml20 {
  decodeBase64(text: string, isDeflated: boolean): Promise<string>;
  parseSAMLRequest(request: string, isPosted: boolean): Promise<{ id: string; acsUrl: string; audience: string }>;
  createSAMLResponse(options: object): Promise<string>;
  createPostForm(url: string, fields: { name: string; value: string }[]): string;
  createIdPMetadataXML(options: object): string;
}

const encryptionOf = ({ encryption }: SamlProvider) =>
  encryption && {
    encryptionCert: encryption.certificate,
    encryptionPublicKey: createPublicKey(encryption.certificate).export({ format: 'pem', type: 'spki' }),
    encryptionAlgorithm: encryption.algorithm,
    disallowEncryptionWithInsecureAlgorithm: false,
    warnOnInsecureEncryptionAlgorithm: false,
  };

const bySamlp: Answerer = (idp, { cert, key }, asked, request, response) => {
  const { auth } = require('samlp') as Samlp;
  const { id, email, name } = idp.user;
  const handle = auth({
    issuer: idp.entityId,
    cert,
    key,
    signatureAlgorithm: 'rsa-sha256',
    digestAlgorithm: 'sha256',
    destination: idp.acsUrl,
    recipient: idp.acsUrl,
    ...encryptionOf(idp),
    ...(idp.requestCert === undefined ? {} : { signingCert: idp.requestCert }),
    getPostURL: (
      _: unknown,
      dom: { documentElement: { getAttribute(name: string): string } },
      __: unknown,
      done: (error: null, url: string) => void,
    ) => done(null, dom.documentElement.getAttribute('AssertionConsumerServiceURL')),
    getUserFromRequest: () => ({
      id,
      emails: [{ value: email }],
      displayName: name,
      name: { givenName: name, familyName: '' },
    }),
  });
  const express = {
    set: (header: string, value: string) => response.setHeader(header, value),
    send: (body: unknown) => response.end(String(body)),
  };
  handle(Object.assign(request, { query: asked, body: {} }), express, (error) =>
    response.writeHead(500).end(String(error)),
  );
};

const byBoxyHq: Answerer = (idp, { cert, key }, asked, _, response) => {
  const library = (require('@boxyhq/saml20') as { default: Saml20 }).default;
  const answer = async (): Promise<string> => {
    const {
      id: requestId,
      acsUrl,
      audience,
    } = await library.parseSAMLRequest(await library.decodeBase64(asked.SAMLRequest, true), false);
    const { id, email, name } = idp.user;
    const said = { audience, acsUrl, requestId, issuer: idp.entityId, privateKey: key, publicKey: cert };
    const claims = { email: id, raw: { mail: email, displayName: name } };
    const xml = await library.createSAMLResponse({ ...said, claims });
    return library.createPostForm(acsUrl, [
      { name: 'SAMLResponse', value: Buffer.from(xml).toString('base64') },
      { name: 'RelayState', value: asked.RelayState },
    ]);
  };
  void answer().then(
    (html) => response.end(html),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
};

/** The providers by their names. */
export const libraries = { samlp: bySamlp, boxyhq: byBoxyHq } as const;

/** Starts a provider at which our address is registered. */
export async function startSamlProvider(
  library: keyof typeof libraries,
  acsUrl: string,
  wantAuthnRequestsSigned = false,
): Promise<SamlProvider> {
  const key = selfSigned(['idp'], { bits: 2048 });
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { createIdPMetadataXML } = (require('@boxyhq/saml20') as { default: Saml20 }).default;
  const x509cert = key.cert.replace(/-----[A-Z ]+-----|\s/g, '');
  const entityId = `${origin}/idp`;
  const metadata = createIdPMetadataXML({
    entityId,
    ssoUrl: `${origin}/sso`,
    x509cert,
    wantAuthnRequestsSigned,
  });
  const idp: SamlProvider = {
    entityId,
    metadataUrl: `${origin}/metadata`,
    metadata,
    cert: key.cert,
    acsUrl,
    user: aSomebody(),
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', origin);
    if (url.pathname === '/metadata') response.end(idp.metadata);
    else if (url.pathname === '/sso')
      libraries[library](idp, key, Object.fromEntries(url.searchParams) as unknown as Asked, request, response);
    else response.writeHead(404).end();
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return idp;
}

/** The form that a page of a provider makes the browser post. */
export function formOf(html: string): { readonly action: string; readonly fields: Readonly<Record<string, string>> } {
  const unescaped = (text = '') =>
    text
      .replace(/&#(?:x([0-9a-f]+)|(\d+));/gi, (_, hex, decimal) =>
        String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal)),
      )
      .replace(/&quot;/g, '"')
      .replace(/&amp;/g, '&');
  const fields = [...html.matchAll(/<input type="hidden"\s+name="([^"]+)"\s+value="([^"]*)"/g)];
  return {
    action: unescaped(/action="([^"]+)"/.exec(html)?.[1]),
    fields: Object.fromEntries(fields.map(([, name = '', value]) => [name, unescaped(value)])),
  };
}
