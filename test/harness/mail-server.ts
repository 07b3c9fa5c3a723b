// The mail server of the outside world: real SMTP on the loopback address, its mails read as a mail program reads them.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { selfSigned } from './certificate.js';
import { after } from './runner.js';

/** A mail that was accepted. */
export interface ReceivedMail {
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  readonly isEncrypted: boolean;
  /** Who had logged in; empty where nobody had. */
  readonly user: string;
  readonly raw: string;
  readonly mail: Email;
}

/** How a test lets the server refuse: the answer's status and words, or nothing where it accepts. */
type Refusal = { readonly status: number; readonly words: string } | undefined;

/** A mail server that ends with the calling test, or with the file when started outside of one. */
export interface MailServer {
  readonly port: number;
  readonly mails: ReceivedMail[];
  /** `RCPT TO` commands so far, whatever they were answered. */
  attempts: number;
  /** What comes of the next recipients, and of the next mails once they are there. */
  onRecipient: (address: string) => Refusal | Promise<Refusal>;
  onMail: () => Refusal | Promise<Refusal>;
  /** Nobody listens any more; `start` lets the same port be answered again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** How the server is set up. */
interface MailServerOptions {
  /** Offers TLS after the greeting, or speaks it from the first byte. */
  readonly tls?: 'offered' | 'immediate';
  /** Demands this login. */
  readonly login?: { readonly user: string; readonly password: string };
}

/** The certificate of the encrypted servers for `localhost`, and the file that a client trusts it by. */
export function createTrust(): { readonly cert: string; readonly key: string; readonly file: string } {
  const directory = mkdtempSync(join(tmpdir(), 'svc-trust-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const pair = selfSigned(['localhost']);
  const file = join(directory, 'ca.pem');
  writeFileSync(file, pair.cert);
  return { ...pair, file };
}

/** Starts a mail server that accepts everything. */
export async function startMailServer(
  { tls, login }: MailServerOptions = {},
  trust?: { readonly cert: string; readonly key: string },
): Promise<MailServer> {
  const refused = (refusal: Refusal) =>
    refusal && Object.assign(new Error(refusal.words), { responseCode: refusal.status });
  const options: SMTPServerOptions = {
    ...(tls === undefined ? { disabledCommands: ['STARTTLS'] } : trust),
    ...{ secure: tls === 'immediate', authOptional: login === undefined, logger: false, closeTimeout: 200 },
    ...(login === undefined ? {} : { allowInsecureAuth: true }),
    onAuth: ({ username = '', password }, _session, done) => {
      const isRight = username === login?.user && password === login?.password;
      if (isRight) done(null, { user: username });
      else done(Object.assign(new Error('5.7.8 who are you'), { responseCode: 535 }));
    },
    onRcptTo: ({ address }, _session, done) => {
      server.attempts += 1;
      Promise.resolve(server.onRecipient(address)).then((refusal) => done(refused(refusal)));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const refusal = await server.onMail();
        if (refusal !== undefined) return done(refused(refusal));
        const { mailFrom, rcptTo } = session.envelope;
        const raw = Buffer.concat(chunks);
        server.mails.push({
          envelope: { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) },
          isEncrypted: session.secure,
          user: session.user || '',
          raw: raw.toString(),
          mail: await PostalMime.parse(raw),
        });
        done();
      });
    },
  };
  let listening: SMTPServer | undefined;
  let port = 0;
  const start = async () => {
    listening = new SMTPServer(options);
    // Clients that hang up in the middle are part of some tests.
    listening.on('error', () => {});
    listening.listen(port, '127.0.0.1');
    await once(listening.server, 'listening');
    port = (listening.server.address() as AddressInfo).port;
  };
  const stop = () =>
    new Promise<void>((resolve) => {
      if (listening === undefined) resolve();
      else listening.close(() => resolve());
      listening = undefined;
    });
  await start();
  const server: MailServer = {
    port,
    mails: [],
    attempts: 0,
    onRecipient: () => undefined,
    onMail: () => undefined,
    stop,
    start,
  };
  after(stop);
  return server;
}
