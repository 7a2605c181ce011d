import { expect, test } from "bun:test"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import type { Image } from "../../../pkg/cri/image.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryFiles } from "../runtime/simulated/machine/memory-files.ts"
import { simulatedKubelet, type PodSpecInput } from "../testing/simulated-kubelet.fixtures.ts"
import type { Credential } from "./credentials.ts"
import { parseImageName } from "./image-name.ts"
import { PullRecords } from "./pull-records.ts"

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

/** The records of a node that has these images. */
function recordsOf(there: readonly Image[]) {
  const files = new MemoryFiles()
  const start = () => {
    const runtime = { files, images: { listImages: async () => there } }
    const context = { runtime, config: { root: "/k" }, clock: new VirtualClock(0), log: silent }
    return new PullRecords(context as unknown as ConstructorParameters<typeof PullRecords>[0])
  }
  return { files, start }
}
const imageWith = (...repoTags: string[]): Image => ({
  ...{ id: "sha256:1", repoTags, repoDigests: [], size: 1, uid: { value: 0 }, username: "" },
  ...{ spec: undefined, pinned: false },
})
const secret = (name: string): Credential => ({
  auth: { username: name },
  secret: { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "ns", uid: name } } as Secret,
})
const nobody = async () => []
const own = parseImageName("own.example/copy:1")
const open = parseImageName("open.example/app:1")

test("whoever pulls a copy of everybody's image with credentials takes it from nobody", async () => {
  // given an image that was there before
  const image = imageWith(open.tagged, own.tagged)
  const { start } = recordsOf([image])
  const records = start()
  // when it is pulled with credentials under another name
  await records.begin(own)
  await records.end(own, image, secret("jane"))
  // then only that name needs them, also for the next kubelet
  for (const kubelet of [records, start()]) {
    expect(await kubelet.mustPull(open, image, nobody)).toBe(false)
    expect(await kubelet.mustPull(own, image, nobody)).toBe(true)
    expect(await kubelet.mustPull(own, image, async () => [secret("jane")])).toBe(false)
  }
  // and the same holds where the kubelet was killed during the pull
  const killed = recordsOf([image])
  await killed.start().begin(own)
  const next = killed.start()
  expect(await next.mustPull(open, image, nobody)).toBe(false)
  expect(await next.mustPull(own, image, nobody)).toBe(true)
})

test("an image of which the record is damaged is verified under each name", async () => {
  const image = imageWith(open.tagged, own.tagged)
  for (const damage of ["", "null", "5", "{}", '{"imageRef":']) {
    // given
    const { files, start } = recordsOf([image])
    const records = start()
    await records.begin(own)
    await records.end(own, image, secret("jane"))
    const [file] = await files.list("/k/image_manager/pulled")
    await files.write(`/k/image_manager/pulled/${file}`, damage)
    // when, then
    const next = start()
    expect(await next.mustPull(own, image, async () => [secret("jane")])).toBe(true)
    expect(await next.mustPull(open, image, nobody)).toBe(true)
  }
})

test("a record ends with its image, and has a limited number of names", async () => {
  // given an image that is pulled under very many names
  const image = imageWith()
  const { files, start } = recordsOf([])
  const records = start()
  const names = Array.from({ length: 200 }, (_, i) => parseImageName(`own.example/copy${i}:1`))
  for (const name of names) {
    await records.begin(name)
    await records.end(name, image, secret("jane"))
  }
  // then the first ones are remembered, and the registry decides about others each time
  const verified = await Promise.all(names.map((name) => records.mustPull(name, image, async () => [secret("jane")])))
  expect(verified.filter((must) => must).length).toBe(100)
  expect(verified.slice(0, 100)).not.toContain(true)
  expect(await files.list("/k/image_manager/pulling")).toEqual([])
  // when it is removed, by the kubelet, or by somebody else while none runs
  const left = await files.list("/k/image_manager/pulled")
  await start().mustPull(own, image, nobody)
  expect(await files.list("/k/image_manager/pulled")).toEqual([])
  await files.write(`/k/image_manager/pulled/${left[0]}`, "{}")
  await records.removed(image)
  // then
  expect(await files.list("/k/image_manager/pulled")).toEqual([])
  expect(await records.mustPull(names[0]!, image, nobody)).toBe(false)
})

test("a pull that cannot be announced does not hide another one that is under way", async () => {
  // given two pulls of an image at once, of which the first cannot be written down
  const image = imageWith(own.tagged)
  const { files, start } = recordsOf([image])
  const records = start()
  Object.assign(files, { write: () => Promise.reject(new Error("no space left")) })
  const [first, second] = await Promise.allSettled([records.begin(own), records.begin(own)])
  expect([first.status, second.status]).toEqual(["rejected", "fulfilled"])
  // then the image is not everybody's while the second goes on
  expect(await records.mustPull(own, image, nobody)).toBe(true)
})

test("an image is used by pods with any of the credentials that have pulled it last, or by all once it is public", async () => {
  // given an image that was pulled with more credentials than are kept
  const image = imageWith(own.tagged)
  const records = recordsOf([image]).start()
  const secrets = Array.from({ length: 101 }, (_, i) => secret(`s${i}`))
  for (const one of secrets) {
    await records.begin(own)
    await records.end(own, image, one)
  }
  const verified = await Promise.all(secrets.map((one) => records.mustPull(own, image, async () => [one])))
  // then
  expect(verified.flatMap((must, i) => (must ? [i] : []))).toEqual([0])
  // when it is pulled without credentials
  await records.pulledByAnybody(own, image)
  // then
  expect(await records.mustPull(own, image, nobody)).toBe(false)
})
