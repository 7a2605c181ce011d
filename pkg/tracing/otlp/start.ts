import type { Clock } from "../../clock/clock.ts"
import type { Random } from "../../clock/random.ts"
import type { Logger } from "../../log/log.ts"
import type { Sampler } from "../sampler.ts"
import { createTracer } from "../tracer.ts"
import type { Tracing } from "../tracing.ts"
import { OtlpExporter } from "./exporter.ts"
import type { Sender } from "./sender.ts"
import type { OtlpSettings } from "./settings.ts"

export interface ExportedTracing {
  readonly tracing: Tracing
  /** Sends the last spans; takes two seconds at most. */
  stop(): Promise<void>
}

export interface StartTracingOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly sampler: Sampler
  readonly settings: OtlpSettings
}

/** Starts tracing, and sends the spans to a collector. This module is imported only when traces are on. */
export async function startTracing(options: StartTracingOptions): Promise<ExportedTracing> {
  const { clock, random, log, sampler, settings } = options
  const exporter = new OtlpExporter({ ...settings, clock, log, sender: await senderFor(settings, clock) })
  return { tracing: createTracer({ clock, random, sampler, sink: exporter.add }), stop: () => exporter.stop() }
}

const senderFor = async (settings: OtlpSettings, clock: Clock): Promise<Sender> =>
  settings.protocol === "grpc"
    ? (await import("./grpc-sender.ts")).grpcSender(settings, clock)
    : (await import("./http-sender.ts")).httpSender(settings, clock)
