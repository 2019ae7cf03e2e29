"""Variables that hold the keys of model providers, which commands of a model have no use for.

Some variables are also the person's own accounts (`GITHUB_TOKEN`, `AWS_...`), which programs need
that have nothing to do with models: they are kept back only where the model in use needs them.
"""

from collections.abc import Iterable, Mapping

from prowess.runtime.environment import Variables, without
from prowess.safety.environment_policy import comparable

_MODELS_ALONE = frozenset(
    {
        "ALIBABA_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AZURE_OPENAI_API_KEY",
        "AZURE_VOICELIVE_API_KEY",
        "CEREBRAS_API_KEY",
        "COHERE_API_KEY",
        "COPILOT_GITHUB_TOKEN",
        "CO_API_KEY",
        "CRUSOE_API_KEY",
        "DASHSCOPE_API_KEY",
        "DEEPSEEK_API_KEY",
        "ELEVENLABS_API_KEY",
        "FIREWORKS_API_KEY",
        "GEMINI_API_KEY",
        "GITHUB_COPILOT_API_KEY",
        "GITHUB_COPILOT_API_TOKEN",
        "GOOGLE_API_KEY",
        "GROQ_API_KEY",
        "HEROKU_INFERENCE_KEY",
        "LITELLM_API_KEY",
        "META_API_KEY",
        "MISTRAL_API_KEY",
        "MOONSHOTAI_API_KEY",
        "NEBIUS_API_KEY",
        "OLLAMA_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "OVHCLOUD_API_KEY",
        "PAIG_API_KEY",
        "PYDANTIC_AI_GATEWAY_API_KEY",
        "SAMBANOVA_API_KEY",
        "SYSTEM_ONE_API_KEY",
        "TOGETHER_API_KEY",
        "TYPESAFE_API_KEY",
        "VERCEL_AI_GATEWAY_API_KEY",
        "VLLM_API_KEY",
        "VOYAGE_API_KEY",
        "XAI_API_KEY",
        "ZAI_API_KEY",
    }
)
_ACCOUNTS: Mapping[str, frozenset[str]] = {
    "bedrock": frozenset({"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}),
    "github": frozenset({"GITHUB_API_KEY", "GITHUB_TOKEN", "GH_TOKEN"}),
    "huggingface": frozenset({"HF_TOKEN"}),
    "snowflake": frozenset({"SNOWFLAKE_TOKEN"}),
    "vercel": frozenset({"VERCEL_OIDC_TOKEN"}),
}


def provider_keys(model_name: str, key_env: str = "") -> frozenset[str]:
    """Return the variables that a model's commands must not see.

    Args:
        model_name: the model in use, as `PROVIDER:NAME`.
        key_env: the variable that the settings name for an endpoint, if any.
    """
    provider = model_name.partition(":")[0].lower()
    accounts = [names for word, names in _ACCOUNTS.items() if provider.startswith(word)]
    own = {key_env} if key_env else set()
    return frozenset(_MODELS_ALONE.union(own, *accounts))


def for_commands(
    environ: Mapping[str, str], keys: Iterable[str], declared: Iterable[str]
) -> Variables:
    """Return the environment of a command: without keys, but for those that skills declare."""
    wanted = {comparable(name) for name in declared}
    return without(environ, [key for key in keys if comparable(key) not in wanted])
