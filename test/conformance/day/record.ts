/**
 * Runs a day on Kubernetes' own control plane, and keeps what its components have written for `day.test.ts` and
 * `scheduling.test.ts`: `bun test/conformance/day/record.ts FOLDER [day|scheduling]`, with kube-apiserver,
 * kube-controller-manager and kube-scheduler in the folder. With `--server KUBECONFIG AUDIT-LOG` it runs the day on a
 * server that is there, and prints what it saw.
 */
import { loadKubeconfig } from "../../../pkg/client/kubeconfig.ts"
import { STEPS } from "./day.ts"
import { writeRecorded } from "./fixture.ts"
import { startControlPlane } from "./programs.ts"
import { realDay } from "./real-day.ts"
import { SCHEDULING } from "./scheduling.ts"

const [folder = "", second = "", auditLog = ""] = process.argv.slice(2)
if (folder === "--server") {
  const config = loadKubeconfig(second)
  console.log(JSON.stringify(await realDay({ config, auditLog, contentTypes: new Map() }, STEPS), undefined, 1))
} else {
  const day = second === "scheduling" ? "scheduling" : "day"
  await using plane = await startControlPlane(folder)
  const { url, token, auditLog: log, contentTypes } = plane
  const config = { server: url, token, insecureSkipTlsVerify: true }
  const steps = day === "day" ? STEPS : SCHEDULING
  writeRecorded(day, await realDay({ config, auditLog: log, contentTypes }, steps))
}
process.exit(0)
