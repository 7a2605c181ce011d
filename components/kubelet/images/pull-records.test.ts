import { expect, test } from "bun:test"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import { simulatedKubelet, type PodSpecInput } from "../testing/simulated-kubelet.fixtures.ts"

const IMAGE = "registry.example/team/app:1"
const jane = { username: "jane", password: "s3cret" }

/** A node whose registry gives the image to jane only. */
async function nodeWithRegistry() {
  const node = await simulatedKubelet({ [IMAGE]: {}, "registry.example/open:1": {} })
  const { images } = node.runtime
  const pull = images.pullImage.bind(images)
  const pulls: string[] = []
  images.pullImage = (spec, auth, sandbox, options) => {
    const user = (auth as { readonly username?: string } | undefined)?.username ?? "nobody"
    pulls.push(user)
    if (spec.image === IMAGE && user !== "jane")
      return Promise.reject(new CriError("Unknown", "PullImage", "401 Unauthorized"))
    return pull(spec, auth, sandbox, options)
  }
  const secret = (name: string, auth: object) =>
    node.cluster.client.create(Secret, {
      metadata: { name, namespace: "default" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": btoa(JSON.stringify({ auths: { "registry.example": auth } })) },
    })
  const start = (name: string, spec: Partial<PodSpecInput> = {}) =>
    node.create(name, { containers: [{ name: "c", image: IMAGE, imagePullPolicy: "IfNotPresent" }], ...spec })
  const state = (name: string) => node.status(name).containerStatuses![0]!.state
  await secret("janes", jane)
  return { ...node, pulls, secret, start, state }
}
const NEVER = { containers: [{ name: "c", image: IMAGE, imagePullPolicy: "Never" as const }] }
const JANES = { imagePullSecrets: [{ name: "janes" }] }

test("a private image that is on the node is used by pods only that have shown credentials for it", async () => {
  // given an image that a pod has pulled with its Secret
  await using node = await nodeWithRegistry()
  await node.start("owner", JANES)
  expect(node.state("owner").running).toBeDefined()
  // when a pod without it wants the image that is there, then the registry decides, also after a restart
  await node.start("other")
  expect(node.state("other").waiting).toMatchObject({ reason: "ErrImagePull" })
  await node.restart()
  await node.start("later")
  expect(node.state("later").waiting).toMatchObject({ reason: "ErrImagePull" })
  await node.start("never", NEVER)
  expect(node.state("never").waiting).toMatchObject({
    reason: "ErrImageNeverPull",
    message: `Container image "${IMAGE}" is not present with pull policy of Never`,
  })
  const volumes = [{ name: "v", image: { reference: IMAGE, pullPolicy: "IfNotPresent" as const } }]
  await node.start("volume", { containers: [{ name: "c", image: "registry.example/open:1" }], volumes })
  expect(node.events("volume").find((text) => text.startsWith("FailedMount"))).toContain("401 Unauthorized")
  // and pods with the Secret, or another one with the same credentials, need no pull
  const before = node.pulls.filter((user) => user === "jane").length
  await node.secret("copy", jane)
  await node.secret("wrong", { username: "eve", password: "x" })
  await node.start("again", JANES)
  await node.start("same", { ...NEVER, imagePullSecrets: [{ name: "copy" }] })
  await node.start("eve", { imagePullSecrets: [{ name: "wrong" }] })
  expect(node.state("again").running).toBeDefined()
  expect(node.state("same").running).toBeDefined()
  expect(node.state("eve").waiting).toMatchObject({ reason: "ErrImagePull" })
  expect(node.pulls.filter((user) => user === "jane").length).toBe(before)
})

test("an image that was pulled without credentials, or was there before, is everybody's", async () => {
  await using node = await nodeWithRegistry()
  const open = { containers: [{ name: "c", image: "registry.example/open:1" }] }
  await node.start("first", open)
  await node.start("second", open)
  expect(node.pulls).toEqual(["nobody"])
  expect(node.state("second").running).toBeDefined()
})

test("an image whose pull was under way when the kubelet was killed is verified", async () => {
  // given a pull with credentials of which only the beginning was recorded
  await using node = await nodeWithRegistry()
  const { files } = node.runtime
  const write = files.write.bind(files)
  Object.assign(files, {
    write: (path: string, text: string) =>
      path.includes("/pulled/") ? Promise.reject(new Error("no space left")) : write(path, text),
  })
  await node.start("owner", JANES)
  Object.assign(files, { write })
  // when the next kubelet starts
  await node.restart()
  await node.start("other")
  // then
  expect(node.state("other").waiting).toMatchObject({ reason: "ErrImagePull" })
})
