/**
 * Runs the day on Kubernetes' own control plane, and keeps what its components have written for `day.test.ts`:
 * `bun test/conformance/day/record.ts FOLDER`, with kube-apiserver, kube-controller-manager and kube-scheduler in the
 * folder. With `--server KUBECONFIG AUDIT-LOG` it runs the day on a server that is there, and prints what it saw.
 */
import { loadKubeconfig } from "../../../pkg/client/kubeconfig.ts"
import { writeRecorded } from "./fixture.ts"
import { startControlPlane } from "./programs.ts"
import { realDay } from "./real-day.ts"

const [folder = "", kubeconfig = "", auditLog = ""] = process.argv.slice(2)
if (folder === "--server") {
  const config = loadKubeconfig(kubeconfig)
  console.log(JSON.stringify(await realDay({ config, auditLog, contentTypes: new Map() }), undefined, 1))
} else {
  await using plane = await startControlPlane(folder)
  const { url, token, auditLog: log, contentTypes } = plane
  writeRecorded(
    await realDay({ config: { server: url, token, insecureSkipTlsVerify: true }, auditLog: log, contentTypes }),
  )
}
process.exit(0)
