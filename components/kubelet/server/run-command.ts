import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { StatsParts } from "../stats/sample.ts"

/**
 * Answers `/run/NAMESPACE/POD[/UID]/CONTAINER?cmd=…`: runs a command, whose words are parted by spaces, to its end, and
 * gives what it printed. Source: pkg/kubelet/server/server.go getRun, RunInContainer in pkg/kubelet/kubelet_pods.go.
 */
export async function runCommand(
  { context: { runtime }, cache, workers }: StatsParts,
  { pathname, searchParams }: URL,
): Promise<Response> {
  const [, , namespace = "", name = "", ...more] = pathname.split("/").map(decodeURIComponent)
  if (more.length < 1 || more.length > 2) return new Response("404 page not found\n", { status: 404 })
  const pod = workers.pods().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  if (pod === undefined) throw new ApiError("NotFound", "pod does not exist")
  const { uid = "" } = pod.metadata
  const container = more.at(-1)!
  const run =
    more.length === 2 && more[0] !== uid
      ? undefined
      : cache.get(uid)?.containers.find((one) => one.name === container && one.state === "running")
  if (run === undefined) throw new ApiError("InternalError", `container not found (${JSON.stringify(container)})`)
  const command = (searchParams.get("cmd") ?? "").split(" ")
  const { exitCode, stdout, stderr } = await runtime.containers.execSync(run.id, command, 0)
  if (exitCode !== 0)
    throw new ApiError(
      "InternalError",
      `command '${command.join(" ")}' exited with ${exitCode}: ${Buffer.from(stderr).toString("utf8")}`,
    )
  return new Response(Buffer.concat([stdout, stderr]), { headers: { "Content-Type": "application/json" } })
}
