import type { Tracing, TracingReports } from './tracing.js';

export type { Tracing, TracingReports } from './tracing.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts tracing if the variables of OpenTelemetry ask for it: an endpoint, or `OTEL_TRACES_EXPORTER=otlp`. Its packages are loaded only then.
 * They read the other variables, such as `OTEL_TRACES_SAMPLER` and `OTEL_EXPORTER_OTLP_HEADERS`, from the environment of the process.
 */
export async function openTracing(environment: Environment, reports: TracingReports): Promise<Tracing | undefined> {
  const exporter = environment.OTEL_TRACES_EXPORTER;
  const endpoint = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOff = /^true$/i.test(environment.OTEL_SDK_DISABLED ?? '') || exporter === 'none';
  if (isOff || !(endpoint || exporter)) return undefined;
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: ofTraces, OTEL_EXPORTER_OTLP_PROTOCOL: ofAll } = environment;
  const protocol = ofTraces || ofAll || 'http/protobuf';
  if (exporter && exporter !== 'otlp') reports.onRefused('OTEL_TRACES_EXPORTER can be otlp or none');
  else if (protocol !== 'http/protobuf' && protocol !== 'http/json')
    reports.onRefused(`OTEL_EXPORTER_OTLP_PROTOCOL can be http/protobuf or http/json`);
  else return (await import('./sdk.js')).startTracing(protocol, reports);
  return undefined;
}
