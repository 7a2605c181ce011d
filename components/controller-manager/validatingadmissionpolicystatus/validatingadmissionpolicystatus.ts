import { ValidatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController, type Controller } from "../../../pkg/controller/controller.ts"
import { typeWarnings, type Kinds } from "./type-checker.ts"

/**
 * Checks the types in the expressions of ValidatingAdmissionPolicies, and writes the warnings into their status.
 * MutatingAdmissionPolicies have no status. Source: pkg/controller/validatingadmissionpolicystatus.
 */
export const policyStatusController = (kinds: Kinds): Controller<ValidatingAdmissionPolicy> =>
  defineController<ValidatingAdmissionPolicy>({
    name: "validatingadmissionpolicy-status-controller",
    reconciles: ValidatingAdmissionPolicy,
    concerns: needsCheck,
    async reconcile(key, { informers, client }) {
      const policy = informers.of(ValidatingAdmissionPolicy).get(key)
      if (policy === undefined || !needsCheck(policy)) return
      const { name, generation } = policy.metadata
      const expressionWarnings = typeWarnings(policy, kinds)
      try {
        await client.patch(
          ValidatingAdmissionPolicy,
          { name },
          {
            type: "apply",
            body: {
              apiVersion: policy.apiVersion,
              kind: policy.kind,
              metadata: { name },
              status: {
                observedGeneration: generation,
                typeChecking: expressionWarnings.length === 0 ? {} : { expressionWarnings },
              },
            },
          },
          { subresource: "status", fieldManager: "validatingadmissionpolicy-status", force: true },
        )
      } catch (err) {
        if (!isNotFound(err)) throw err
      }
    },
  })

const needsCheck = ({ metadata, status }: ValidatingAdmissionPolicy): boolean =>
  (metadata.generation ?? 0) > (status.observedGeneration ?? 0)
