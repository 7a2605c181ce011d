import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { RuntimePod, RuntimeSandbox } from "./runtime-pod.ts"

/** Returns whether the pod needs a new sandbox. Source: pkg/kubelet/kuberuntime/util/util.go PodSandboxChanged. */
export function sandboxState(
  pod: Pod,
  { sandboxes }: RuntimePod,
): { readonly changed: boolean; readonly attempt: number; readonly sandbox: RuntimeSandbox | undefined } {
  const [newest] = sandboxes
  if (newest === undefined) return { changed: true, attempt: 0, sandbox: undefined }
  const hostNetwork = pod.spec.hostNetwork === true
  const lost =
    !newest.ready ||
    sandboxes.filter(({ ready }) => ready).length > 1 ||
    newest.hostNetwork !== hostNetwork ||
    (!hostNetwork && newest.ips.length === 0)
  return lost
    ? { changed: true, attempt: newest.attempt + 1, sandbox: undefined }
    : { changed: false, attempt: newest.attempt, sandbox: newest }
}
