import { createHash } from "node:crypto"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { madeOnce } from "../../../pkg/cache/made-once.ts"
import type { AuthConfig, Image } from "../../../pkg/cri/image.ts"
import type { KubeletContext } from "../context.ts"
import type { Credential } from "./credentials.ts"
import { parseImageName, type ImageName } from "./image-name.ts"
import { PullRecordFiles, recordFileOf } from "./pull-record-files.ts"

/** A Secret whose credentials have pulled an image. */
interface PullSecret {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly credentialHash: string
}

/** Who may use an image under one name without a tag. */
interface Access {
  /** Every pod of the node may, since the image was pulled without credentials, or was there before. */
  readonly nodePodsAccessible?: true
  readonly kubernetesSecrets?: readonly PullSecret[]
}

type AccessByName = Readonly<Record<string, Access>>

/** Source: k8s.io/kubelet config/v1beta1/types.go ImagePulledRecord. */
interface PulledRecord {
  readonly imageRef: string
  readonly lastUpdatedTime: string
  readonly credentialMapping: AccessByName
}

/** The most Secrets that are kept for one name of an image; the oldest is left out. Source: writeRecordWhileMatchingLimit. */
const MOST_SECRETS = 100
/** The most names that are kept for one image. Under another name it is pulled again for each container. */
const MOST_NAMES = 100
const EVERYBODY: Access = { nodePodsAccessible: true }

/**
 * Remembers with which credentials this node has pulled images. An image that is there already is used by pods that
 * have such credentials, and otherwise pulled again, by which the registry decides. Images without a record were there
 * before (NeverVerifyPreloadedImages), or were pulled without credentials, and are everybody's. KEP-2535. Source:
 * pkg/kubelet/images/pullmanager.
 *
 * Differs from upstream: a pull without credentials has no record while there is none for its image, and the other
 * names of an image stay everybody's when it is pulled with credentials under a new one: a user who pulls a copy of a
 * public image from a registry of his own would take it from everybody.
 */
export class PullRecords {
  readonly #context: Pick<KubeletContext, "runtime" | "clock" | "log">
  readonly #files: PullRecordFiles
  /** By the id of the image. */
  readonly #records = new Map<string, PulledRecord>()
  /** How many pulls of each image are under way. A file for each is there until the record is written. */
  readonly #intents = new Map<string, number>()
  readonly #load = madeOnce(() => this.#read())

  constructor(context: Pick<KubeletContext, "runtime" | "config" | "clock" | "log">) {
    this.#context = context
    this.#files = new PullRecordFiles(context)
  }

  /** Whether an image that is there must be pulled again, because the pod has not shown that it may use the image. */
  async mustPull(name: ImageName, image: Image, credentials: () => Promise<readonly Credential[]>): Promise<boolean> {
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
      await this.#note(name, image, secret).catch((err: unknown) => this.#warn("note the credentials of", name, err))
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
    try {
      await this.#files.write("pulling", recordFileOf(key), { image: key })
    } catch (err) {
      this.#endOne(key)
      throw err
    }
  }

  /** Called after a pull that `begin` has announced; `image` is undefined after a failure. */
  async end(name: ImageName, image: Image | undefined, used: Credential | undefined): Promise<void> {
    try {
      if (image !== undefined) await this.#note(name, image, used && pullSecretOf(used))
    } catch (err) {
      // The intent stays, so that the image does not count as one that was there before.
      return this.#warn("record the pull of", name, err)
    }
    const key = keyOf(name)
    if (this.#endOne(key))
      await this.#files
        .remove("pulling", recordFileOf(key))
        .catch((err: unknown) => this.#warn("end the record of the pull of", name, err))
  }

  /** Called after a pull without credentials. */
  async pulledByAnybody(name: ImageName, image: Image): Promise<void> {
    await this.#load()
    if (this.#records.has(image.id))
      await this.#note(name, image, undefined).catch((err: unknown) => this.#warn("record the pull of", name, err))
  }

  /** Called when an image was removed from the node. */
  async removed({ id, repoTags }: Image): Promise<void> {
    if (!this.#records.delete(id)) return
    await this.#files
      .remove("pulled", recordFileOf(id))
      .catch((err: unknown) =>
        this.#context.log.warn("Failed to remove the record of an image", { image: repoTags[0] ?? id, err }),
      )
  }

  /** Ends one of the pulls of an image. Returns whether it was the last one. */
  #endOne(key: string): boolean {
    const left = (this.#intents.get(key) ?? 1) - 1
    if (left > 0) this.#intents.set(key, left)
    else this.#intents.delete(key)
    return left <= 0
  }

  /** Adds a way to use the image: by a Secret, or by every pod. */
  async #note(name: ImageName, image: Image, secret: PullSecret | undefined): Promise<void> {
    const key = keyOf(name)
    const before =
      this.#records.get(image.id)?.credentialMapping ?? othersOf(image, (other) => this.#intents.has(other))
    const access = before[key]
    if (access === undefined && Object.keys(before).length >= MOST_NAMES) return
    const secrets = access?.kubernetesSecrets ?? []
    const isKnown =
      access?.nodePodsAccessible === true ||
      (secret !== undefined &&
        secrets.some((other) => isSameObject(other, secret) && other.credentialHash === secret.credentialHash))
    if (isKnown) return
    const others = secrets.filter((other) => secret !== undefined && !isSameObject(other, secret))
    const next: Access =
      secret === undefined ? EVERYBODY : { kubernetesSecrets: [...others, secret].slice(-MOST_SECRETS) }
    await this.#save(image, { ...before, [key]: next })
  }

  async #save({ id }: Image, credentialMapping: AccessByName): Promise<void> {
    const record = { imageRef: id, lastUpdatedTime: formatTime(this.#context.clock.now()), credentialMapping }
    await this.#files.write("pulled", recordFileOf(id), record)
    this.#records.set(id, record)
  }

  /**
   * Reads what earlier kubelets have left. Records of images that are gone are removed. An image is verified under
   * every name if its record is damaged, and under the name by which it was being pulled when a kubelet was stopped.
   */
  async #read(): Promise<void> {
    const [records, intents] = [await this.#files.list("pulled"), await this.#files.list("pulling")]
    if (records.length === 0 && intents.length === 0) return
    const there = await this.#context.runtime.images.listImages()
    const byFile = new Map(there.map((image) => [recordFileOf(image.id), image]))
    for (const { name, content } of records) {
      const image = byFile.get(name)
      if (image === undefined) await this.#files.remove("pulled", name)
      else if (isRecord(content)) this.#records.set(image.id, content)
      else await this.#save(image, {})
    }
    const pulling = new Set(intents.map(({ name }) => name))
    const wasPulling = (key: string) => pulling.has(recordFileOf(key))
    for (const image of there)
      if (!this.#records.has(image.id) && namesOf(image).some(wasPulling))
        await this.#save(image, othersOf(image, wasPulling))
    for (const name of pulling) await this.#files.remove("pulling", name)
  }

  #warn(what: string, { tagged }: ImageName, err: unknown): void {
    this.#context.log.warn(`Failed to ${what} an image`, { image: tagged, err })
  }
}

/** Credentials are given to all tags of a name. Source: image_pull_manager.go trimImageTagDigest. */
const keyOf = ({ registry, repository }: ImageName): string => `${registry}/${repository}`

/** Returns the names of an image that is there, without tags. */
const namesOf = ({ repoTags, repoDigests }: Image): readonly string[] =>
  [...repoTags, ...repoDigests].flatMap((reference) => {
    try {
      return [keyOf(parseImageName(reference))]
    } catch {
      return []
    }
  })

/** Returns the access to an image without a record under the names by which it is not being pulled: everybody has it. */
const othersOf = (image: Image, isPulled: (key: string) => boolean): AccessByName =>
  Object.fromEntries(
    namesOf(image)
      .filter((key) => !isPulled(key))
      .map((key) => [key, EVERYBODY]),
  )

const isRecord = (content: unknown): content is PulledRecord =>
  typeof (content as Partial<PulledRecord> | null | undefined)?.credentialMapping === "object"

const hashOf = ({ username, password, auth, identityToken, registryToken }: AuthConfig): string =>
  createHash("sha256")
    .update(JSON.stringify([username, password, auth, identityToken, registryToken]))
    .digest("hex")

const pullSecretOf = ({ auth, secret: { metadata } }: Credential): PullSecret => {
  const { uid = "", namespace = "", name = "" } = metadata
  return { uid, namespace, name, credentialHash: hashOf(auth) }
}

const isSameObject = (a: PullSecret, b: PullSecret): boolean =>
  a.uid === b.uid && a.namespace === b.namespace && a.name === b.name
