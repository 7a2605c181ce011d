import { createHash } from "node:crypto"
import { join } from "node:path"
import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import type { AuthConfig, Image } from "../../../pkg/cri/image.ts"
import type { KubeletContext } from "../context.ts"
import type { Credential } from "./credentials.ts"
import { parseImageName, type ImageName } from "./image-name.ts"

/** A Secret whose credentials have pulled an image. */
interface PullSecret {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly credentialHash: string
}

/** Who may use an image under one name without a tag. */
interface Access {
  /** Every pod of the node may, since the image was pulled without credentials. */
  readonly nodePodsAccessible?: true
  readonly kubernetesSecrets?: readonly PullSecret[]
}

/** Source: k8s.io/kubelet config/v1beta1/types.go ImagePulledRecord. */
interface PulledRecord {
  readonly imageRef: string
  readonly lastUpdatedTime: string
  readonly credentialMapping: Readonly<Record<string, Access>>
}

const API_VERSION = "kubelet.config.k8s.io/v1beta1"
/** The most Secrets that are kept for one image; the oldest is left out. Source: writeRecordWhileMatchingLimit. */
const MOST_SECRETS = 100

/**
 * Remembers with which credentials this node has pulled images. An image that is there already is used by pods that
 * have such credentials, and otherwise pulled again, by which the registry decides. Images without a record were there
 * before (NeverVerifyPreloadedImages), or were pulled without credentials, and are everybody's. KEP-2535. Source:
 * pkg/kubelet/images/pullmanager.
 *
 * Differs from upstream: a pull without credentials has no record while there is none for its image.
 */
export class PullRecords {
  readonly #context: Pick<KubeletContext, "runtime" | "config" | "clock" | "log">
  readonly #records = new Map<string, PulledRecord>()
  /** How many pulls of each image are under way. A file for each is there until the record is written. */
  readonly #intents = new Map<string, number>()
  #loaded: Promise<void> | undefined
  /** Writes of files take turns. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(context: Pick<KubeletContext, "runtime" | "config" | "clock" | "log">) {
    this.#context = context
  }

  /** Whether an image that is there must be pulled again, because the pod has not shown that it may use the image. */
  async mustPull(
    name: ImageName,
    image: Pick<Image, "id">,
    credentials: () => Promise<readonly Credential[]>,
  ): Promise<boolean> {
    await this.#load()
    const record = this.#records.get(image.id)
    // An image may be there before the record of its pull is written.
    if (record === undefined) return this.#intents.has(keyOf(name))
    const access = record.credentialMapping[keyOf(name)]
    if (access?.nodePodsAccessible === true) return false
    const known = access?.kubernetesSecrets ?? []
    if (known.length === 0) return true
    for (const credential of await credentials()) {
      const secret = pullSecretOf(credential)
      const isSame = known.some(({ credentialHash }) => credentialHash === secret.credentialHash)
      // A Secret that has pulled the image may have got other credentials since then.
      if (!isSame && !known.some((other) => isSameObject(other, secret))) continue
      await this.#note(name, image.id, secret).catch((err: unknown) => this.#warn("note the credentials of", name, err))
      return false
    }
    return true
  }

  /** Called before a pull that may use credentials. @throws Error when the file cannot be written: nothing is pulled */
  async begin(name: ImageName): Promise<void> {
    await this.#load()
    const key = keyOf(name)
    const count = this.#intents.get(key) ?? 0
    this.#intents.set(key, count + 1)
    if (count > 0) return
    const intent = { kind: "ImagePullIntent", apiVersion: API_VERSION, image: key }
    try {
      await this.#write("pulling", key, intent)
    } catch (err) {
      this.#intents.delete(key)
      throw err
    }
  }

  /** Called after a pull that `begin` has announced; `id` is the image's, undefined after a failure. */
  async end(name: ImageName, id: string | undefined, used: Credential | undefined): Promise<void> {
    try {
      if (id !== undefined) await this.#note(name, id, used && pullSecretOf(used))
    } catch (err) {
      // The intent stays, so that the image does not count as one that was there before.
      return this.#warn("record the pull of", name, err)
    }
    const key = keyOf(name)
    const count = this.#intents.get(key) ?? 0
    if (count > 1) return void this.#intents.set(key, count - 1)
    this.#intents.delete(key)
    await this.#remove("pulling", key).catch((err: unknown) => this.#warn("end the record of the pull of", name, err))
  }

  /** Called after a pull without credentials. */
  async pulledByAnybody(name: ImageName, id: string): Promise<void> {
    await this.#load()
    if (this.#records.has(id))
      await this.#note(name, id, undefined).catch((err: unknown) => this.#warn("record the pull of", name, err))
  }

  /** Adds a way to use the image: by a Secret, or by every pod. */
  async #note(name: ImageName, id: string, secret: PullSecret | undefined): Promise<void> {
    const before = this.#records.get(id)
    const key = keyOf(name)
    const access = before?.credentialMapping[key] ?? {}
    const secrets = access.kubernetesSecrets ?? []
    const isKnown =
      access.nodePodsAccessible === true ||
      (secret !== undefined &&
        secrets.some((other) => isSameObject(other, secret) && other.credentialHash === secret.credentialHash))
    if (isKnown) return
    const others = secrets.filter((other) => secret !== undefined && !isSameObject(other, secret))
    const next: Access =
      secret === undefined
        ? { nodePodsAccessible: true }
        : { kubernetesSecrets: [...others, secret].slice(-MOST_SECRETS) }
    const record: PulledRecord = {
      imageRef: id,
      lastUpdatedTime: formatTime(this.#context.clock.now()),
      credentialMapping: { ...before?.credentialMapping, [key]: next },
    }
    await this.#write("pulled", id, { kind: "ImagePulledRecord", apiVersion: API_VERSION, ...record })
    this.#records.set(id, record)
  }

  #load(): Promise<void> {
    return (this.#loaded ??= this.#read().catch((err: unknown) => {
      this.#loaded = undefined
      throw err
    }))
  }

  /** Reads what earlier kubelets have left. Records of images that are gone are removed. */
  async #read(): Promise<void> {
    const { files, images } = this.#context.runtime
    const read = async (folder: Folder): Promise<readonly unknown[]> => {
      const found: unknown[] = []
      for (const file of await files.list(this.#path(folder))) {
        const text = await files.read(this.#path(folder, file))
        if (text !== undefined) found.push(parsed(text))
      }
      return found
    }
    const records = (await read("pulled")) as readonly (PulledRecord | undefined)[]
    const intents = (await read("pulling")) as readonly ({ readonly image: string } | undefined)[]
    if (records.length === 0 && intents.length === 0) return
    const there = await images.listImages()
    for (const record of records) {
      if (record === undefined) continue
      if (there.some(({ id }) => id === record.imageRef)) this.#records.set(record.imageRef, record)
      else await this.#remove("pulled", record.imageRef)
    }
    for (const intent of intents) {
      if (intent === undefined) continue
      // The kubelet was stopped during the pull: who may use the image is not known.
      for (const { id, repoTags, repoDigests } of there)
        if (!this.#records.has(id) && [...repoTags, ...repoDigests].some((ref) => keyOfText(ref) === intent.image)) {
          const record = { imageRef: id, lastUpdatedTime: formatTime(this.#context.clock.now()), credentialMapping: {} }
          await this.#write("pulled", id, { kind: "ImagePulledRecord", apiVersion: API_VERSION, ...record })
          this.#records.set(id, record)
        }
      await this.#remove("pulling", intent.image)
    }
  }

  #write(folder: Folder, key: string, content: object): Promise<void> {
    const { files } = this.#context.runtime
    return this.#inTurn(async () => {
      await files.makeFolder(this.#path(folder), 0o700)
      await files.write(this.#path(folder, fileOf(key)), JSON.stringify(content), 0o600)
    })
  }

  #remove(folder: Folder, key: string): Promise<void> {
    return this.#inTurn(() => this.#context.runtime.files.remove(this.#path(folder, fileOf(key))))
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work)
    this.#writing = done.catch(() => undefined) // told to the caller
    return done
  }

  #path(folder: Folder, file = ""): string {
    return join(this.#context.config.root, "image_manager", folder, file)
  }

  #warn(what: string, { tagged }: ImageName, err: unknown): void {
    this.#context.log.warn(`Failed to ${what} an image`, { image: tagged, err })
  }
}

type Folder = "pulling" | "pulled"

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
const fileOf = (key: string): string => `sha256-${sha256(key)}`

/** Credentials are given to all tags of a name. Source: image_pull_manager.go trimImageTagDigest. */
const keyOf = ({ registry, repository }: ImageName): string => `${registry}/${repository}`

function keyOfText(reference: string): string | undefined {
  try {
    return keyOf(parseImageName(reference))
  } catch {
    return undefined
  }
}

const hashOf = ({ username, password, auth, identityToken, registryToken }: AuthConfig): string =>
  sha256(JSON.stringify([username, password, auth, identityToken, registryToken]))

const pullSecretOf = ({ auth, secret }: Credential): PullSecret => ({
  ...coordinates(secret),
  credentialHash: hashOf(auth),
})

const coordinates = ({ metadata: { uid = "", namespace = "", name = "" } }: Secret) => ({ uid, namespace, name })

const isSameObject = (a: PullSecret, b: PullSecret): boolean =>
  a.uid === b.uid && a.namespace === b.namespace && a.name === b.name

/** Returns undefined for a damaged file: its image is verified by a pull as soon as another record is written. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
