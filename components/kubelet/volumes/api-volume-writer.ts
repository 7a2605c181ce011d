import { join } from "node:path"
import type { ClusterTrustBundle } from "../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import type { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import { nodeAmounts } from "../downwardapi/resource-fields.ts"
import type { MountedVolume } from "../model/mounted-volume.ts"
import { isLarge, MAX_PAYLOAD_BYTES, PayloadBudget, VolumeBytes } from "../runtime/payload-budget.ts"
import { contentsIn } from "./api-volume.ts"
import type { ContentSources } from "./contents.ts"
import { decodedSecrets } from "./decoded-secrets.ts"
import { ownershipFor } from "./ownership.ts"
import type { LazyPodCertificates } from "../podcertificate/lazy-pod-certificates.ts"
import type { Reference } from "./references.ts"
import type { ServiceAccountTokens } from "./types/service-account-token.ts"

/** What a reference leads to. */
export type ReadObject = ConfigMap | Secret | readonly ClusterTrustBundle[]

/** What a writer asks the volumes of its pod for. */
export interface WrittenPod {
  /** The pod as it is now. */
  readonly pod: Pod
  /** Whether the pod's volumes are not followed any more: no file is written then. */
  readonly isStopped: boolean
  readObject(reference: Reference): Promise<ReadObject | undefined>
  /** Called when the files of a volume are about to be made from what the API has now. */
  writing(volume: string): void
  /** Called with when a token in a volume must be renewed, in milliseconds of the monotonic clock. */
  renewAt(volume: string, at: number): void
}

/**
 * Writes the files of those volumes of a pod whose contents come from the API. Writes run one after the other, since
 * two concurrent writers of a folder would remove each other's files.
 */
export class ApiVolumeWriter {
  readonly #context: KubeletContext
  readonly #tokens: ServiceAccountTokens
  readonly #certificates: LazyPodCertificates
  readonly #of: WrittenPod
  /** Undefined while nothing is being written, as in most pods at most times. */
  #writing: Promise<unknown> | undefined
  /**
   * The part of the current write that touches files. What comes before may wait for an API server that does not
   * respond.
   */
  #atFiles: Promise<unknown> | undefined
  /** Exists once a volume is large, which in most pods none is. */
  #bytes: VolumeBytes | undefined

  constructor(
    {
      context,
      tokens,
      certificates,
    }: { context: KubeletContext; tokens: ServiceAccountTokens; certificates: LazyPodCertificates },
    of: WrittenPod,
  ) {
    this.#context = context
    this.#certificates = certificates
    this.#tokens = tokens
    this.#of = of
  }

  /** Updates the files of a volume. @throws what keeps it from being written */
  write(volume: Volume): Promise<MountedVolume> {
    const written = (this.#writing ?? Promise.resolve()).then(() => this.#writeNow(volume))
    const ended = written
      .catch(() => undefined)
      .then(() => {
        if (this.#writing === ended) this.#writing = undefined
      })
    this.#writing = ended
    return written
  }

  /** Resolves when no file is being written. */
  async filesAtRest(): Promise<void> {
    await this.#atFiles?.catch(() => undefined)
  }

  async #writeNow(volume: Volume): Promise<MountedVolume> {
    const { runtime, clock } = this.#context
    const { pod } = this.#of
    this.#of.writing(volume.name)
    const contents = contentsIn(volume)
    if (contents === undefined) throw new Error(`volume "${volume.name}" takes nothing from the API`)
    const budget = new PayloadBudget(MAX_PAYLOAD_BYTES - (this.#bytes?.beside(volume.name) ?? 0))
    const payload = await contents.files(this.#sources(volume, budget))
    if (isLarge(budget.taken)) this.#bytes ??= new VolumeBytes()
    this.#bytes?.note(volume.name, budget.taken)
    const folder = await this.#folder(volume)
    if (!this.#of.isStopped) {
      const stamp = timestamp(clock).slice(0, 19).replaceAll(/[-T:]/g, "_")
      const atFiles = runtime.volumes.writePayload({ folder, payload, ownership: ownershipFor(pod, true), stamp })
      this.#atFiles = atFiles
      await atFiles
      if (this.#atFiles === atFiles) this.#atFiles = undefined
    }
    return { name: volume.name, hostPath: folder, readOnly: true, selinuxRelabel: true, measured: "files" }
  }

  async #folder({ name, secret, configMap, projected }: Volume): Promise<string> {
    const { config, runtime } = this.#context
    const kind =
      secret !== undefined
        ? "secret"
        : configMap !== undefined
          ? "configmap"
          : projected !== undefined
            ? "projected"
            : "downward-api"
    const root = await runtime.volumes.memoryFolder(config.root)
    return join(root, this.#of.pod.metadata.uid!, `kubernetes.io~${kind}`, name)
  }

  #sources(volume: Volume, budget: PayloadBudget): ContentSources {
    const context = this.#context
    const { pod } = this.#of
    const read = async <T>(reference: Reference): Promise<T | undefined> =>
      (await this.#of.readObject(reference)) as T | undefined
    return {
      pod,
      hostIps: context.config.nodeIps,
      configMap: (name) => read<ConfigMap>({ kind: "ConfigMap", name }),
      secret: decodedSecrets((name) => read<Secret>({ kind: "Secret", name })),
      trustBundles: async () =>
        (await read<readonly ClusterTrustBundle[]>({ kind: "ClusterTrustBundles", name: "" })) ?? [],
      budget,
      node: () => nodeAmounts(context),
      podCertificate: async (source, index) => {
        const held = await this.#certificates.get({ pod, volume: volume.name, index, source })
        if (held.renewAt < Infinity) this.#of.renewAt(volume.name, held.renewAt)
        return held
      },
      token: async (audience, expirationSeconds) => {
        const { status, renewAt } = await this.#tokens.get({ pod, audience, expirationSeconds })
        this.#of.renewAt(volume.name, renewAt)
        return status
      },
    }
  }
}
