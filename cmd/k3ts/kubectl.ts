import { hostEnvironment } from "../../pkg/kubectl/environment/host-environment.ts"
import { runKubectl } from "../../pkg/kubectl/kubectl.ts"
import { buildDate, gitCommit, gitTreeState, GIT_VERSION, KUBERNETES_MINOR } from "../../pkg/version/version.ts"

/** The kubeconfig that a server of this machine writes. */
const SERVER_KUBECONFIG = "/etc/k3ts/k3ts.yaml"

/** Runs kubectl with arguments of this process, and resolves with its exit code. */
export const kubectl = (args: readonly string[]): Promise<number> =>
  runKubectl(
    args,
    hostEnvironment({
      name: "kubectl",
      kubeconfigs: [SERVER_KUBECONFIG],
      version: {
        ...KUBERNETES_MINOR,
        gitVersion: GIT_VERSION,
        gitCommit,
        gitTreeState,
        buildDate,
        goVersion: "",
        compiler: "bun",
        platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
      },
    }),
  )
