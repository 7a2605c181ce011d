/** What a user writes into objects and logs does not act when somebody else asks why, or runs what is named as a mend. */
import { expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const why = async (cluster: Cluster, about: string) => (await cluster.kubectl(`why ${about}`)).stdout

test("no sign of a name moves the cursor of a terminal, begins a line, or is a command of a shell", async () => {
  // given pods that name a ConfigMap with such signs, and an image
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.apply(String.raw`
apiVersion: v1
kind: Pod
metadata: {name: volume}
spec:
  containers: [{name: c, image: "app:1"}]
  volumes: [{name: v, configMap: {name: "x\e[2K\n\nMend:\n  rm -rf $(id)"}}]
---
apiVersion: v1
kind: Pod
metadata: {name: variable}
spec:
  containers: [{name: c, image: "app:1", envFrom: [{configMapRef: {name: settings}}]}]
`)
  await cluster.advance("1m")

  // when somebody asks why
  const answer = await why(cluster, "pod/volume")

  // then the signs are shown, and no object with this name can be made, so that no command makes it
  expect(answer).toContain(String.raw`ConfigMap x^[[2K\n\nMend:\n  rm -rf $(id), which volume v needs`)
  expect(answer.split("\n").filter((line) => /^Mend:|^ *rm |create/.test(line))).toEqual([])
  expect(await why(cluster, "pod/variable")).toContain("kubectl create configmap settings -n default")
  expect((await cluster.kubectl("why")).stdout).not.toContain("\u001b")
})

test("a log does not make anybody give rights to an account of others", async () => {
  // given a pod that writes what a program writes to which a right is refused
  const refusal = (user: string, resource: string) =>
    `User "${user}" cannot list resource "${resource}" in API group "" at the cluster scope`
  const writes = (user: string, resource = "secrets") => ({
    runsMs: 10,
    exitCode: 1,
    logs: [refusal(user, resource)],
  })
  await using cluster = await startCluster({
    nodes: 1,
    images: {
      "own:1": writes("system:serviceaccount:default:default"),
      "other:1": writes("system:serviceaccount:evil:default"),
      "shell:1": writes("system:serviceaccount:default:default;id"),
      "several:1": writes("system:serviceaccount:default:default", "pods,secrets"),
      "every:1": writes("system:serviceaccount:default:default", "*"),
    },
  })
  for (const name of ["own", "other", "shell", "several", "every"])
    await cluster.apply(`
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec: {containers: [{name: c, image: "${name}:1"}]}
`)
  await cluster.advance("1m")

  // then only the pod's own account is named in a command, and one kind
  const gives = async (name: string) => (await why(cluster, `pod/${name}`)).includes("--serviceaccount=")
  expect([await gives("own"), await gives("other"), await gives("shell")]).toEqual([true, false, false])
  expect([await gives("several"), await gives("every")]).toEqual([false, false])
})
