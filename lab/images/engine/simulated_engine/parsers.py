"""Names of the tool and reasoning parsers that vLLM 0.25.0 registers."""

from __future__ import annotations

_TOOL = """
    apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 ernie45 functiongemma
    gemma4 gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hunyuan_a13b hy_v3 internlm jamba kimi_k2
    lfm2 llama3_json llama4_json llama4_pythonic longcat mimo minicpm5 minimax_m2 minimax_m3 mistral olmo3 openai
    phi4_mini_json poolside_v1 pythonic qwen3_coder qwen3_xml seed_oss step3 step3p5 xlam
"""

_REASONING = """
    cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 ernie45 gemma4 glm45 glm47 granite holo2
    hunyuan_a13b hy_v3 kimi_k2 mimo minimax_m2 minimax_m2_append_think minimax_m3 mistral nemotron_v3 olmo3
    openai_gptoss poolside_v1 qwen3 seed_oss step3 step3p5
"""

TOOL = frozenset(_TOOL.split())
REASONING = frozenset(_REASONING.split())
