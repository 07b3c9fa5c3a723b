// Forms with a file, right ones and nearly right ones.
import type { Random } from '../documents/random.js';
import type { Plan } from './plan.js';

const boundary = 'hostile-boundary';
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A form as the SDKs send it, or one that is broken somewhere. */
export function withForm(plan: Plan, random: Random): Plan {
  const content = random.pick([
    pixel,
    Buffer.from('<script>alert(1)</script>'),
    Buffer.from('GIF89a<svg onload=alert(1)>'),
    Buffer.alloc(random.pick([0, 1, 70_000]), 'x'),
  ]);
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = `--${boundary}\r\nContent-Disposition: form-data; name="${random.pick(['file', 'file', 'file', 'other'])}"; filename="${random.pick(['a.png', '../../etc/passwd', 'ü.html', ''])}"\r\nContent-Type: image/png\r\n\r\n`;
  const fields = [
    field('fileId', random.pick(['unique()', 'unique()', 'one', '..', ''])),
    random.chance(0.5) ? field('permissions[]', random.pick(['read("any")', 'read("users")', 'nonsense'])) : '',
  ].join('');
  const end = random.chance(0.9) ? `\r\n--${boundary}--\r\n` : '';
  const whole = [Buffer.from(fields + file), content, Buffer.from(end)];
  const chunk: [string, string][] = random.chance(0.3)
    ? [['Content-Range', random.pick(['bytes 0-69999/70000', 'bytes 0-5242879/9000000', 'bytes 5-4/3', 'bytes a-b/c'])]]
    : [];
  return {
    ...plan,
    raw: Buffer.concat(whole),
    headers: [...plan.headers, ['Content-Type', `multipart/form-data; boundary=${boundary}`], ...chunk],
  };
}
