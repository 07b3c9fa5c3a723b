import { setTimeout as sleep } from 'node:timers/promises';
import { isSigningSecret, verifyDelivery } from '#src/features/index.js';
import { command, type ParsedArgs } from '../line/command.js';
import {
  duration,
  inputBytes,
  readFileOf,
  readSecretFile,
  readStdinBytes,
  validFlag,
  wholeNumber,
} from '../line/input.js';
import { inGroup } from '../line/options.js';
import { defaultToleranceSeconds, listenForWebhooks, type ReceivedRequest } from '../serving/webhook-listener.js';
import { failedError, usageError } from '../terminal/exit.js';
import { endingSignal } from '../terminal/interrupt.js';
import type { Lines } from '../terminal/lines.js';
import { entryLine, pairs } from '../terminal/table.js';

/** Maximum delay of a timer. */
const maxSleepMs = 2_147_483_647;
const secretFile = { flag: '--secret-file', value: 'FILE', summary: 'file with the signing secret' } as const;

const verify = command({
  path: 'webhook verify',
  summary:
    'Checks the signatures of a received delivery, from svc or any other Standard Webhooks sender. Exit code 1 if a signature is wrong',
  options: [
    { ...secretFile, required: true },
    { flag: '--body-file', value: 'FILE', summary: 'the body, byte for byte; - is stdin (default: -)' },
    { flag: '--signature', value: 'HEX', summary: 'X-Service-Signature' },
    ...inGroup('Standard Webhooks', [
      { flag: '--id', value: 'ID', summary: 'webhook-id' },
      { flag: '--timestamp', value: 'SECONDS', summary: 'webhook-timestamp' },
      { flag: '--standard-signature', value: 'TEXT', summary: 'webhook-signature' },
      { flag: '--tolerance', value: 'DURATION', summary: 'how far the timestamp may be from now (default: 5m)' },
    ]),
  ],
  examples: [
    'svc webhook verify --secret-file whsec.txt --body-file body.json --signature d2f1a50c || echo "the body or the secret differs"',
    "printf '{}' | svc webhook verify --secret-file whsec.txt --id e1 --timestamp 1767225600 --standard-signature v1,AAAA --json || true",
  ],
  needs: 'nothing',
  run: async ({ args }) => {
    const secret = secretIn(args.required('--secret-file'));
    const headers = {
      signature: args.text('--signature'),
      id: args.text('--id'),
      timestamp: args.text('--timestamp'),
      standardSignature: args.text('--standard-signature'),
    };
    requireSomethingToCheck(headers);
    const checks = verifyDelivery(
      secret,
      { ...headers, body: await bodyOf(args) },
      {
        now: Date.now() / 1000,
        toleranceSeconds: validFlag(args, '--tolerance', duration) ?? defaultToleranceSeconds,
      },
    );
    const ok = checks.every((check) => check.ok);
    return {
      value: { ok, checks },
      text: pairs(checks.map((check) => [check.header, check.ok ? 'ok' : check.reason])),
      exitCode: ok ? 0 : 1,
    };
  },
});

const listen = command({
  path: 'webhook listen',
  summary: 'Receives webhooks on this machine, checks and prints them, and forwards them to an application',
  options: [
    { flag: '--port', value: 'N', summary: 'port on 127.0.0.1 (default: 9000; 0 for a free one)' },
    { ...secretFile, summary: 'file with the signing secret; without it no signature is checked' },
    {
      flag: '--forward-to',
      value: 'URL',
      summary: 'application that gets the deliveries, and whose status is the answer',
    },
    { flag: '--for', value: 'DURATION', summary: 'ends after this time (default: at Ctrl-C)' },
  ],
  examples: [
    'svc webhook listen --secret-file whsec.txt --forward-to http://localhost:3000/webhooks --for 1s',
    'svc webhook listen --port 0 --for 1s --json',
  ],
  needs: 'nothing',
  run: async ({ args, output }) => {
    const file = args.text('--secret-file');
    const seconds = validFlag(args, '--for', duration);
    const counts = { received: 0, refused: 0 };
    const signal = endingSignal();
    const listener = await listening(args, {
      secret: file === undefined ? undefined : secretIn(file),
      onRequest: (delivery) => {
        counts.received += 1;
        if (delivery.status === 401) counts.refused += 1;
        void output.entry({ value: delivery, text: lineOf(delivery) });
      },
    });
    if (output.json) process.stdout.write(`${JSON.stringify({ url: listener.url })}\n`);
    output.note(`Receiving webhooks at ${listener.url}`);
    await over(seconds, signal);
    await listener.close();
    if (signal.aborted) return undefined;
    if (counts.refused > 0)
      throw failedError(
        'signature_invalid',
        `Deliveries received: ${counts.received}, refused: ${counts.refused}.`,
        'compare the secret with that of the sender; it is shown when a webhook is added and when its secret is rotated',
      );
    // With JSON the deliveries are the result, one per line.
    return output.json ? undefined : { value: counts, text: `Deliveries received: ${counts.received}.` };
  },
});

/** Waits for this time or the signal. */
async function over(seconds: number | undefined, signal: AbortSignal): Promise<void> {
  const limit = seconds === undefined ? maxSleepMs : seconds * 1000;
  do await sleep(Math.min(limit, maxSleepMs), undefined, { signal }).catch(() => {});
  while (seconds === undefined && !signal.aborted);
}

/** The commands for receivers of webhooks. They need no installation. */
export const webhookReceiverCommands = [verify, listen];

type Listening = Parameters<typeof listenForWebhooks>[0];

async function listening(args: ParsedArgs, options: Pick<Listening, 'secret' | 'onRequest'>) {
  const port = wholeNumber(args, '--port', 9000, 65_535);
  const forwardTo = args.text('--forward-to');
  if (forwardTo !== undefined && !/^https?:\/\/./.test(forwardTo))
    throw usageError(
      `--forward-to must be a URL, not ${forwardTo}.`,
      'give one such as http://localhost:3000/webhooks',
    );
  try {
    return await listenForWebhooks({ ...options, port, forwardTo });
  } catch {
    throw failedError('port_unavailable', `Port ${port} is not available.`, 'choose another with --port N');
  }
}

function requireSomethingToCheck({ signature, ...ofStandard }: Readonly<Record<string, string | undefined>>): void {
  const standard = Object.values(ofStandard).filter((one) => one !== undefined).length;
  if (standard === 0 && signature === undefined)
    throw usageError(
      'No signature to check is given.',
      'give --signature, or --id, --timestamp and --standard-signature',
    );
  if (standard !== 0 && standard !== 3)
    throw usageError(
      '--id, --timestamp and --standard-signature belong together: the signature is over all of them.',
      'give all three',
    );
}

function secretIn(file: string): string {
  const secret = readSecretFile(file, '--secret-file').trim();
  if (isSigningSecret(secret)) return secret;
  throw usageError(
    `${file} holds no signing secret: one is whsec_ and at least 24 bytes in base64.`,
    `put the secret that the sender shows into ${file}; svc webhook add and rotate-secret print it`,
  );
}

async function bodyOf(args: ParsedArgs): Promise<Buffer> {
  const file = args.text('--body-file') ?? '-';
  if (file === '-') return readStdinBytes(inputBytes.body);
  return readFileOf(file, '--body-file', inputBytes.body);
}

function lineOf({ receivedAt, event, eventId, checks, status, error }: ReceivedRequest): Lines {
  const signatures = checks.length === 0 ? 'not checked' : status === 401 ? 'refused' : 'signed';
  return entryLine([receivedAt, event || 'unknown', eventId || '-', signatures, String(status), error]);
}
