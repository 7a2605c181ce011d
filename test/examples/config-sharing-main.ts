/**
 * The operator as a program: `KUBECONFIG=… bun config-sharing-main.ts`, or in a pod under a service account. Of several
 * copies one works; when it ends, another goes on.
 */
import { hostname } from "node:os"
import { connect, runOperator, stopSignal } from "../../pkg/operator/operator.ts"
import { sharing } from "./config-sharing.ts"

using cluster = connect({ userAgent: "config-sharing/1" })
await runOperator(cluster, [sharing], {
  signal: stopSignal(),
  leaderElection: { name: "config-sharing", namespace: "default", identity: `${hostname()}-${process.pid}` },
})
