/** Commands that do not mend what is broken: tried in a copy they are found not to, and in truth they do not. */
import { expect, test } from "bun:test"
import { tryMend } from "../../components/cluster/testing/forecast/trial.ts"
import { readObjects } from "../../components/cluster/testing/snapshot.ts"
import { startCluster, type ClusterOptions } from "../../components/cluster/testing/testing.ts"
import type { Trial } from "../../pkg/why/answer.ts"
import { ask, deployment } from "./situation.fixtures.ts"

interface Wrong {
  readonly title: string
  readonly yaml: string
  readonly ask: string
  readonly command: string
  readonly verdict: Trial["verdict"]
  readonly says: RegExp
  readonly options?: ClusterOptions
}

const one = (more: string): string => `{${more} containers: [{name: c, image: web}]}`
const requests = (cpu: string): string =>
  `{containers: [{name: c, image: web, resources: {requests: {cpu: "${cpu}"}}}]}`

const WRONG: readonly Wrong[] = [
  {
    title: "uncordoning a node, for a pod that is too large for any",
    yaml: deployment("web", requests("100")),
    ask: "deployment/web",
    command: "kubectl uncordon node-0",
    verdict: "does-not-help",
    says: /^Deployment default\/web is not well there after 10m0s: .*100 CPUs/,
  },
  {
    title: "another label than the one that is looked for",
    yaml: deployment("web", one("nodeSelector: {disk: ssd},")),
    ask: "deployment/web",
    command: "kubectl label node node-0 disk=nvme",
    verdict: "does-not-help",
    says: /is not well there after 10m0s/,
  },
  {
    title: "a command that fails",
    yaml: deployment("web", one("nodeSelector: {disk: ssd},")),
    ask: "deployment/web",
    command: "kubectl taint nodes node-0 gone:NoSchedule-",
    verdict: "does-not-help",
    says: /^it fails: .*gone/,
  },
  {
    title: "an account in another namespace",
    yaml: deployment("web", one("serviceAccountName: reader,")),
    ask: "deployment/web",
    command: "kubectl create serviceaccount reader -n kube-system",
    verdict: "does-not-help",
    says: /is not well there after 10m0s/,
  },
  {
    title: "a restart, for an image that no registry has",
    yaml: deployment("web", one("")),
    ask: "deployment/web",
    command: "kubectl rollout restart deployment/web",
    verdict: "not-known",
    says: /^programs, registries and what is outside do there what they have done: image web/,
    options: { images: { web: { pullError: "failed to resolve reference web: not found" } } },
  },
  {
    title: "a note on what crashes",
    yaml: deployment("web", one("")),
    ask: "deployment/web",
    command: "kubectl annotate deployment/web note=1 && kubectl rollout restart deployment/web",
    verdict: "not-known",
    says: /./,
    options: { images: { web: { runsMs: 1000, exitCode: 3 } } },
  },
]

test.each([...WRONG])("$title does not help, and is not said to", async (wrong) => {
  // given what is broken
  await using cluster = await startCluster({ nodes: 2, seed: 1, ...wrong.options })
  await cluster.apply(wrong.yaml)
  await cluster.advance("3m")
  const { answer } = await ask(cluster, wrong.ask)
  // when the command is tried in a copy, and then made
  const trial = await tryMend(await readObjects(await cluster.snapshot()), { answer, flags: [] }, wrong.command)
  for (const command of wrong.command.split(" && ")) await cluster.kubectl(command.replace("kubectl ", ""))
  await cluster.advance("10m")
  // then
  expect(trial).toEqual({ verdict: wrong.verdict, says: expect.stringMatching(wrong.says) })
  expect((await ask(cluster, wrong.ask)).code).toBe(1)
})

test("what becomes well by itself is not ascribed to a mend", async () => {
  // given a pod that will be ready when its program listens
  await using cluster = await startCluster({ nodes: 1, images: { web: { listensAfterMs: 30_000 } } })
  await cluster.apply(
    deployment(
      "web",
      "{containers: [{name: c, image: web, readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 1}}]}",
    ),
  )
  await cluster.advance("5s")
  const { answer } = await ask(cluster, "deployment/web")
  // when
  const trial = await tryMend(
    await readObjects(await cluster.snapshot()),
    { answer, flags: [] },
    "kubectl annotate deployment/web note=1",
  )
  // then
  expect(trial.verdict).not.toBe("helps")
})

test("what is no command of kubectl is not tried", async () => {
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.apply(deployment("web", requests("100")))
  await cluster.advance("1m")
  const { answer } = await ask(cluster, "deployment/web")
  expect(
    await tryMend(await readObjects(await cluster.snapshot()), { answer, flags: [] }, "systemctl restart k3ts"),
  ).toEqual({ verdict: "not-known", says: "it is no command of kubectl" })
})
