import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { createFrameReader, writeFrame } from './frames.js';
import { type DrawRequest, type ImageAnswer, ImageRefused, type ImageRequest } from './image.js';

/** Niceness of this process: all others have priority. */
const niceness = 10;
/** Interval of the signs of life while it works; other threads do the decoding. */
const beatMs = 500;

yieldToOthers();
// Signals are ignored: the service ends this process itself, after the running conversion.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
// After a disconnect no client waits for the running conversion.
process.on('disconnect', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
await work();
process.exit(0);

/** Converts images one after the other until the service is gone. */
async function work(): Promise<void> {
  const next = createFrameReader(process.stdin);
  for (;;) {
    const request = await next();
    if (request === undefined) return;
    signOfLife();
    const beat = setInterval(signOfLife, beatMs);
    const pieces: Buffer[] = [];
    for (let piece = await next(); piece?.length !== 0; piece = await next()) {
      if (piece === undefined) return;
      pieces.push(piece);
    }
    const { bytes, ...answer } = await answerTo(Buffer.concat(pieces), JSON.parse(request.toString()));
    pieces.length = 0;
    await writeFrame(process.stdout, Buffer.from(JSON.stringify(answer)));
    await writeFrame(process.stdout, bytes);
    clearInterval(beat);
  }
}

/** The service may be gone already; then this process ends too. */
function signOfLife(): void {
  if (process.connected) process.send?.(0, () => {});
}

async function answerTo(
  bytes: Buffer,
  request: ImageRequest | DrawRequest,
): Promise<ImageAnswer & { readonly bytes: Buffer }> {
  const residentBytes = () => process.memoryUsage.rss();
  try {
    const { convertImage, drawImage } = await import('./pipeline.js');
    const made = 'svg' in request ? drawImage(request) : convertImage(bytes, request);
    const { bytes: converted, format } = await made;
    return { format, bytes: converted, residentBytes: residentBytes() };
  } catch (error) {
    const reason = error instanceof ImageRefused ? error.reason : 'unsupported';
    return { refused: reason, bytes: Buffer.alloc(0), residentBytes: residentBytes() };
  }
}

/** Lowers the priority; ignores errors if the system does not allow it. */
function yieldToOthers(): void {
  try {
    setPriority(niceness);
    // Makes Linux kill this process first if memory runs out.
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {}
}
