"""What people ask for in the demo: plain requests, written without looking at any tool."""

from typing import Final

DEMO_REQUESTS: Final = (
    "Which S3 buckets do I have?",
    "Put a reminder into my calendar: dentist, next Tuesday at nine.",
    "One of our virtual machines hangs. Restart it, and then show me its CPU usage for the last hour.",
    "Translate this sentence into Japanese: the meeting has been moved to Friday.",
    "Make a new folder in Drive and share it with the sales team.",
    "고객에게 문자 메시지를 보내 줘.",
    "How much did we spend on cloud services last month?",
    "데이터베이스 백업을 만들고, 새 데이터베이스로 복원해 줘.",
)
"""Eight, two of them in Korean; the last line of each kind needs more than one tool."""
