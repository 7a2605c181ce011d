import type { KubeletContext } from "../context.ts"
import type { ObjectUse, ObjectUser } from "../objects/watched-objects.ts"
import type { CertificateQuery, HeldCertificate, PodCertificates } from "./pod-certificates.ts"

/** The certificates of pods; what requests them is loaded with the first. */
export class LazyPodCertificates {
  readonly #context: KubeletContext
  readonly #users = new Map<string, () => void>()
  #loaded: Promise<PodCertificates> | undefined

  constructor(context: KubeletContext) {
    this.#context = context
  }

  /** Tells a user when a request of the pod was decided. The user calls the pod's certificates `about`. */
  use(podUid: string, user: ObjectUser, about: string): ObjectUse<never> {
    const changed = () => user.objectChanged(about, { exists: true, existed: false })
    this.#users.set(podUid, changed)
    return {
      about,
      read: async () => undefined,
      release: () => {
        if (this.#users.get(podUid) === changed) this.#users.delete(podUid)
      },
    }
  }

  /** See PodCertificates. @throws Error while the pod has no certificate */
  async get(query: CertificateQuery): Promise<HeldCertificate> {
    this.#loaded ??= import("./pod-certificates.ts").then(
      ({ PodCertificates }) => new PodCertificates(this.#context, (podUid) => this.#users.get(podUid)?.()),
    )
    return (await this.#loaded).get(query)
  }

  forget(podUid: string): void {
    void this.#loaded?.then((certificates) => certificates.forget(podUid))
  }

  stop(): void {
    void this.#loaded?.then((certificates) => certificates.stop())
  }
}
