/**
 * Matchers for `expect`: `k3ts/testing/matchers`. `expect.extend(matchers)` brings them into a runner;
 * `k3ts/testing/matchers/bun`, `/vitest`, `/jest` and `/expect` do so, with the types.
 *
 *     import "k3ts/testing/matchers/bun"
 *
 *     await expect(cluster).toBecomeReady(Deployment, "web", { within: "5m" })
 *     await expect(cluster).toHaveEvent({ about: "web-0", reason: "BackOff" })
 */
export { matchers, type ClusterMatchers, type MatcherResult } from "./cluster-matchers.ts"
export { printReports, type WhenTestFails } from "../report/print-reports.ts"
export type { EventMatch } from "./events.ts"
export type { EventuallyOptions } from "../verbs/eventually.ts"
