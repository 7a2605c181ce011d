/** Commands of k3s that k3ts does not have, and what does the same. Source: k3s pkg/cli/cmds. */
import { containerdPaths } from "../../../components/containerd/paths.ts"

const SOCKET = containerdPaths("").socket

export const COMMANDS_OF_K3S: ReadonlyMap<string, string> = new Map([
  ["crictl", `install crictl and run: crictl --runtime-endpoint unix://${SOCKET} ps`],
  ["ctr", `ctr comes with containerd: ctr --address ${SOCKET} --namespace k8s.io containers list`],
  ["etcd-snapshot", "the command is k3ts snapshot"],
  ["kubectl", "install kubectl and run: KUBECONFIG=/etc/k3ts/k3ts.yaml kubectl get nodes"],
])
