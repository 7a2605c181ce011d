import { ApiError, forbidden, qualified } from "../../../pkg/apimachinery/errors.ts"
import { isPending } from "../call/maybe-promise.ts"
import type { Admission, AdmissionAttributes } from "./admission.ts"
import { shownName } from "./policies/shown-name.ts"

/**
 * Returns plugins whose refusals name the object by its generateName while its name has not been generated, and as
 * Unknown where it has neither, as upstream's do. Source: apiserver pkg/admission/errors.go NewForbidden.
 */
export function namedRefusals(admission: Admission): Admission {
  return {
    ...admission,
    admit: (attributes) => named(attributes, () => admission.admit(attributes)),
    validate: (attributes) => named(attributes, () => admission.validate(attributes)),
  }
}

function named<T>(attributes: AdmissionAttributes, ask: () => T | Promise<T>): T | Promise<T> {
  if (attributes.name !== "") return ask()
  const fail = (err: unknown): never => {
    throw withName(err, attributes)
  }
  try {
    const answer = ask()
    return isPending(answer) ? answer.catch(fail) : answer
  } catch (err) {
    return fail(err)
  }
}

function withName(err: unknown, { resource, name, object }: AdmissionAttributes): unknown {
  const nameless = `${qualified(resource)} is forbidden: `
  if (!(err instanceof ApiError) || err.reason !== "Forbidden" || !err.message.startsWith(nameless)) return err
  const { message, details } = forbidden(resource, shownName(name, object), err.message.slice(nameless.length))
  return new ApiError(err.reason, message, { ...err.details, ...details }, { code: err.code, cause: err.cause })
}
