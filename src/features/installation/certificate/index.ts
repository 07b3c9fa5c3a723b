import { type TlsValidity, tlsTimeProblem, tlsValidity } from '#src/platform/config/tls-files.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';

type Deps = Pick<Runtime, 'config' | 'clock' | 'log' | 'metrics'>;

/** Gauge of the certificate's expiry. */
export function createCertificateExpiry({ metrics }: Pick<Runtime, 'metrics'>) {
  return metrics.gauge({
    name: 'svc_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate that the server uses expires, in seconds since 1970',
  });
}

/** Reports the expiry of the server's certificate in the log and the metrics. A server keeps using the certificate it read at its start or its last reload. */
export function createCertificate(runtime: Deps) {
  const { config, clock, log } = runtime;
  let used: TlsValidity | undefined;
  let expiry: { set(seconds: number): void } | undefined;
  const check = (): void => {
    const validity = used ?? tlsValidity(config);
    const problem = validity && tlsTimeProblem(validity, clock.now());
    if (problem === undefined) return;
    const { code, from, until } = problem;
    const next = 'renew the certificate, then systemctl reload svc';
    if (code === 'expired') log.warn('tls.expired', { from, until, next });
    else log.warn('tls.expires-soon', { from, until, next });
  };
  const job: Job = {
    name: 'tls.check',
    schedule: '0 40 6 * * *',
    summary: 'Warns in the log when the certificate of SVC_TLS_CERT has expired or expires soon',
    lease: 'process',
    run: async () => check(),
  };
  return {
    /** Called when a server starts using a certificate. */
    begin: (): void => {
      used = tlsValidity(config);
      if (used === undefined) return;
      expiry ??= createCertificateExpiry(runtime);
      expiry.set(used.until / 1000);
      check();
    },
    jobs: [job],
  };
}
