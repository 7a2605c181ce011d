import { Pod, type Cluster } from "../../components/cluster/testing/testing.ts"
import { pod, type Situation } from "./situation.fixtures.ts"

/** Has the kubelet of pod web report in an Event why it does not get on. */
const fails = (reason: string, message: string) => async (cluster: Cluster) => {
  const { metadata } = await cluster.get(Pod, "web")
  const involvedObject = { apiVersion: "v1", kind: "Pod", name: "web", namespace: "default", uid: metadata.uid }
  const event = { metadata: { name: "web.1", namespace: "default" }, involvedObject, type: "Warning", reason, message }
  await cluster.apply([{ apiVersion: "v1", kind: "Event", ...event }])
}

/** What kubelets say of runtimes and kernels that cannot do what a pod asks for; simulated ones can do all. */
export const RUNTIMES: readonly Situation[] = [
  {
    title: "a pod with user namespaces, which the node's runtime does not have",
    yaml: pod("web", `{hostUsers: false, nodeName: node-0, containers: [{name: c, image: "app:1"}]}`),
    breaks: fails(
      "FailedCreatePodSandBox",
      "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    ),
    ask: "pod/web",
    cause: "user-namespaces-missing",
    says: /the runtime of node node-0 has no user namespaces, which hostUsers: false asks for/,
    options: { nodes: 1, components: { kubelet: false } },
  },
  {
    title: "an image as a volume, which the node's containerd is too old for",
    yaml: pod(
      "web",
      `{nodeName: node-0, containers: [{name: c, image: "app:1"}], volumes: [{name: m, image: {reference: "model:1"}}]}`,
    ),
    breaks: fails(
      "FailedMount",
      'MountVolume.SetUp failed for volume "m" : image volumes need containerd 2.1 or newer, and this is 1.6.20',
    ),
    ask: "pod/web",
    cause: "image-volumes-missing",
    says: /node node-0 cannot mount an image as a volume: that needs containerd 2\.1 or newer, and it has 1\.6\.20/,
    options: { nodes: 1, components: { kubelet: false } },
  },
  {
    title: "an AppArmor profile on a node that does not have AppArmor",
    yaml: pod(
      "web",
      `{nodeName: node-0, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: strict}}, containers: [{name: c, image: "app:1"}]}`,
    ),
    breaks: (cluster) =>
      cluster.kubectl([
        ...["patch", "pod", "web", "--subresource=status", "--type=merge", "-p"],
        '{"status":{"phase":"Failed","reason":"AppArmor","message":"Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host"}}',
      ]),
    ask: "pod/web",
    cause: "apparmor-refused",
    says: /the kubelet refused it: Cannot enforce AppArmor: AppArmor is not enabled on the host/,
    options: { nodes: 1, components: { kubelet: false } },
  },
]
