import type { ImageBehaviour } from "../../../components/cluster/testing/testing.ts"

/** How the images of the hunt behave. Those whose name begins with `flaky` are mended before the quiet. */
export const IMAGES: Readonly<Record<string, ImageBehaviour>> = {
  app: { startMs: 200 },
  slowpull: { pullMs: 8000, startMs: 500 },
  slowstop: { onStop: { afterMs: 7000 } },
  stubborn: { onStop: "ignore" },
  api: { listensAfterMs: 2500, http: () => new Response("ok") },
  // Its probes are answered by the simulation itself, which knows their results before they run.
  web: { startMs: 100, listensAfterMs: 1500, onStop: "drain" },
  flaky: { runsMs: 900, exitCode: 1 },
  "flaky-job": { runsMs: 3000, exitCode: 3 },
  job: { runsMs: 4000 },
  "long-job": { runsMs: 45_000 },
  busy: { cpu: () => 0.3 },
  leaky: { memoryBytes: 200 * 2 ** 20 },
}

/** How `flaky` images behave once they are mended. */
export const MENDED: Readonly<Record<string, ImageBehaviour>> = { flaky: {}, "flaky-job": { runsMs: 3000 } }

/** Images whose containers run until they are stopped. */
export const LASTING = [
  "app",
  "app",
  "app",
  "slowpull",
  "slowstop",
  "stubborn",
  "api",
  "web",
  "web",
  "web",
  "flaky",
  "leaky",
  "busy",
] as const
/** Images whose containers end by themselves. */
export const ENDING = ["job", "job", "long-job", "flaky-job"] as const
