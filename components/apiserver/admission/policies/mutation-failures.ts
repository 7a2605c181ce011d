import type { MutatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
import type { MutatingAdmissionPolicyBinding } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicybinding.ts"
import { ApiError, HTTP_CODE } from "../../../../pkg/apimachinery/errors.ts"
import type { AdmissionAttributes } from "../admission.ts"
import { shownName } from "./shown-name.ts"

interface Failure {
  readonly policy: MutatingAdmissionPolicy
  readonly binding: MutatingAdmissionPolicyBinding | undefined
  readonly why: string
  /** Whether the reason of the Status is Invalid instead of Forbidden. */
  readonly isInvalid?: boolean
}

/** Collects the failures of policies whose failurePolicy is not Ignore. Source: policy/generic/policy_dispatcher.go. */
export class MutationFailures {
  readonly #found: Failure[] = []

  add(failure: Failure): void {
    if (failure.policy.spec.failurePolicy !== "Ignore") this.#found.push(failure)
  }

  /** @throws ApiError with the message of the first failure, and all failures as causes; nothing when there is none */
  refuse({ resource, name, object }: AdmissionAttributes): void {
    const [first] = this.#found
    if (first === undefined) return
    throw new ApiError(
      first.isInvalid === true ? "Invalid" : "Forbidden",
      messageOf(first),
      {
        name: shownName(name, object),
        ...(resource.group === "" ? {} : { group: resource.group }),
        kind: resource.plural,
        causes: this.#found.map((failure) => ({ message: messageOf(failure) })),
      },
      { code: HTTP_CODE.Forbidden },
    )
  }
}

const messageOf = ({ policy, binding, why }: Failure): string =>
  binding === undefined
    ? `policy ${JSON.stringify(policy.metadata.name)} denied request: ${why}`
    : `policy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${why}`
